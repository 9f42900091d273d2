import type { Theme } from '../theme.ts'

/** The first eight are told apart by colour-blind eyes as well. */
const LIGHT = [
  '#1f6fb4',
  '#d1570a',
  '#12875a',
  '#b8438c',
  '#2796c0',
  '#a67c00',
  '#6b4fbb',
  '#8a5a3c',
  '#c22f3d',
  '#5f8f1d',
  '#5a6b8c',
  '#d6468f',
  '#0a7f86',
  '#7c3a66',
  '#41668f',
  '#b36a1e',
]
const DARK = [
  '#5aa9f0',
  '#ff9248',
  '#3fcb94',
  '#ee85c3',
  '#62cdf2',
  '#e8bd3a',
  '#a993ff',
  '#c99a76',
  '#ff7d85',
  '#a5d04f',
  '#9fb2d9',
  '#ff9ccf',
  '#45d3da',
  '#d79ac4',
  '#8db8e8',
  '#f5b26b',
]

/** The same name has the same colour on every page, in every share, in both themes. */
export function colourOf(name: string, theme: Theme): string {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  const palette = theme === 'dark' ? DARK : LIGHT
  return palette[(hash >>> 0) % palette.length] as string
}
