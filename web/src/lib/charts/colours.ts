import { useSyncExternalStore } from 'react'
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

export type ColourOf = (name: string, theme: Theme) => string

/** Of the palette, as many as there are to choose from. */
export const COLOURS = LIGHT.length
export const colourAt = (place: number, theme: Theme): string => paletteOf(theme)[place] as string

/** The same name has the same colour on every page, in every share, in both themes. */
export const colourOf: ColourOf = (name, theme) => colourAt(chosen()[jobOf(name)] ?? placeOf(name), theme)

/**
 * As `colourOf`, but of names that stand side by side no two share a colour while there are unused ones. The names come
 * in the order in which their jobs started, so one that is added takes no colour from those before it.
 */
export function coloursAmong(names: () => readonly string[]): ColourOf {
  const places = new Map<string, number>()
  const taken = new Map<number, number>()
  let seen: readonly string[] = []
  return (name, theme) => {
    if (seen !== names()) {
      seen = names()
      for (const one of seen) {
        if (places.has(one)) continue
        let place = placeOf(one)
        const round = Math.floor(places.size / LIGHT.length)
        while ((taken.get(place) ?? 0) > round) place = (place + 1) % LIGHT.length
        places.set(one, place)
        taken.set(place, (taken.get(place) ?? 0) + 1)
      }
    }
    return colourAt(chosen()[jobOf(name)] ?? places.get(name) ?? placeOf(name), theme)
  }
}

/** Where jobs of several batches stand together, a name is `batch / job`: its job has one colour everywhere. */
function jobOf(name: string): string {
  const cut = name.lastIndexOf(' / ')
  return cut < 0 ? name : name.slice(cut + 3)
}

const KEY = 'colours'
const watchers = new Set<() => void>()
let kept: Record<string, number> | null = null

/** Colours that the person chose, by job; kept in this browser. */
function chosen(): Record<string, number> {
  if (kept === null) {
    kept = {}
    try {
      for (const [name, place] of Object.entries(JSON.parse(localStorage.getItem(KEY) ?? '{}')))
        if (Number.isInteger(place) && (place as number) in LIGHT) kept[name] = place as number
    } catch {
      // What somebody else wrote there is no choice of colours.
    }
  }
  return kept
}

/** @param place of the palette; null: as its name says */
export function chooseColour(name: string, place: number | null): void {
  const next = { ...chosen() }
  if (place === null) delete next[jobOf(name)]
  else next[jobOf(name)] = place
  kept = next
  localStorage.setItem(KEY, JSON.stringify(next))
  for (const watcher of watchers) watcher()
}

function watch(changed: () => void): () => void {
  const elsewhere = ({ key }: StorageEvent): void => {
    if (key !== KEY) return
    kept = null
    changed()
  }
  watchers.add(changed)
  addEventListener('storage', elsewhere)
  return () => {
    watchers.delete(changed)
    removeEventListener('storage', elsewhere)
  }
}
/** Something that changes with every choice, in this tab or another one. */
export const useColourChoice = (): unknown => useSyncExternalStore(watch, chosen)
export const isChosen = (name: string): boolean => jobOf(name) in chosen()

const paletteOf = (theme: Theme): readonly string[] => (theme === 'dark' ? DARK : LIGHT)

function placeOf(name: string): number {
  const job = jobOf(name)
  let hash = 0x811c9dc5
  for (let i = 0; i < job.length; i++) hash = Math.imul(hash ^ job.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 15
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  return (hash >>> 0) % LIGHT.length
}
