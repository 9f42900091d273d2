/** The domain's part of the live stream (contract §6): the channels, who may follow them, and their messages. */
export type { Viewer } from './follow.ts'
export { createLive, type Live } from './live.ts'
export type { BatchPayload } from './payloads.ts'
export type { PayloadPoint, PayloadSnapshot } from './series-payloads.ts'
