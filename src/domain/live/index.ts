/** The live stream as the nouns see it (contract §6): which channels there are, who may follow them, what they say. */
export type { Viewer } from './follow.ts'
export { createLive, type Live } from './live.ts'
export type { ToldBatch } from './told.ts'
export type { ToldLine, ToldPoint, ToldSnapshot } from './told-series.ts'
