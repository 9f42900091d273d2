/** What a picture shows, before it is SVG or PNG. */
export interface Scene {
  width: number
  height: number
  background: string
  shapes: readonly Shape[]
}

export type Shape =
  | { kind: 'rect'; x: number; y: number; width: number; height: number; fill: string; radius?: number }
  /** A line through these points; NaN interrupts it. */
  | { kind: 'line'; xs: ArrayLike<number>; ys: ArrayLike<number>; stroke: string; width: number }
  | { kind: 'text'; x: number; y: number; text: string; size: number; fill: string; anchor?: Anchor }
export type Anchor = 'start' | 'middle' | 'end'

export const THEMES = {
  light: { background: '#ffffff', ink: '#12161f', muted: '#535c6b', line: '#e3e6ec' },
  dark: { background: '#0f1218', ink: '#e8ebf1', muted: '#a3adbd', line: '#272d3a' },
} as const
export type Theme = keyof typeof THEMES

/** Distinct in both themes, and for colour-blind readers in this order. */
export const COLOURS = [
  '#3b7dd8',
  '#d9822b',
  '#2a9d6f',
  '#c2417c',
  '#8a63d2',
  '#b0912a',
  '#1fa3b8',
  '#d1483e',
  '#6f8f2f',
  '#8c6d5c',
] as const
