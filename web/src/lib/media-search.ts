import { type ChartLayout, readLayout } from './charts/layout.ts'
import { type ChartSearch, readChartSearch } from './charts/search.ts'
import { type MediaLook, readLooks } from './media-looks.ts'

/** The width of images in pixels; on phones three, two or one fill a row. */
export const TILES = { s: 120, m: 200, l: 320 } as const
export const PHONE_TILES = { s: 104, m: 160, l: 332 } as const
export type TileSize = keyof typeof TILES

/** What is chosen for media on a page; without a step, the last one is shown as it arrives. */
export interface MediaChoices {
  step?: number
  /** The size of images; medium by default. */
  tile?: TileSize
  /** How the cards are arranged, with that of charts. */
  layout?: ChartLayout
  /** What is chosen for the media of a key. */
  looks?: Record<string, MediaLook>
}
/** The search parameters of the Media tab: jobs are chosen as for charts. */
export type MediaSearch = ChartSearch & MediaChoices

export function readMediaChoices(given: Record<string, unknown>): MediaChoices {
  const { step, tile } = given
  const [layout, looks] = [readLayout(given.layout), readLooks(given.looks)]
  return {
    ...(layout && { layout }),
    ...(looks && { looks }),
    ...(Number.isSafeInteger(step) && { step: step as number }),
    ...((tile === 's' || tile === 'l') && { tile }),
  }
}

export const readMediaSearch = (given: Record<string, unknown>): MediaSearch => ({
  ...readChartSearch(given),
  ...readMediaChoices(given),
})
