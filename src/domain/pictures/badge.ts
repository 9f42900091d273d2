import type { Scene } from './scene.ts'
import { fitText, textWidth } from './text-width.ts'

const SIZE = 11
const PADDING = 6

/** Two fields: what it is about, and what is so. */
export function badgeOf(label: string, value: string, colour: string): Scene {
  const left = fitText(label, SIZE, 200)
  const right = fitText(value, SIZE, 200)
  const middle = Math.ceil(textWidth(left, SIZE)) + 2 * PADDING
  const width = middle + Math.ceil(textWidth(right, SIZE)) + 2 * PADDING
  return {
    width,
    height: 20,
    background: 'none',
    shapes: [
      { kind: 'rect', x: 0, y: 0, width, height: 20, fill: colour, radius: 3 },
      { kind: 'rect', x: 0, y: 0, width: middle, height: 20, fill: '#3c4454', radius: 3 },
      { kind: 'rect', x: middle - 3, y: 0, width: 3, height: 20, fill: '#3c4454' },
      { kind: 'text', x: PADDING, y: 14, text: left, size: SIZE, fill: '#ffffff' },
      { kind: 'text', x: middle + PADDING, y: 14, text: right, size: SIZE, fill: '#ffffff' },
    ],
  }
}

/** White on each of them has a contrast of at least 4.5. */
export const STATUS_COLOURS: Readonly<Record<string, string>> = {
  running: '#1860c4',
  completed: '#17734a',
  failed: '#bd2130',
  stopped: '#535c6b',
  lost: '#954708',
}
export const VALUE_COLOUR = '#3b5bdb'
