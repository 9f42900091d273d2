import { useSyncExternalStore } from 'react'
import { itemAt } from '../checked.ts'
import type { Theme } from '../theme.ts'

/**
 * The first eight colours are distinguishable, also with colour blindness (test/web/colours.test.ts measures it).
 * Charts use them first.
 */
export const SAFE_COLOURS = 8
const LIGHT = [
  '#384eac',
  '#ea5d17',
  '#339956',
  '#b152d9',
  '#00758d',
  '#c31766',
  '#745a00',
  '#414243',
  '#6f86e8',
  '#a33a0c',
  '#7a9a1f',
  '#6b1f80',
  '#2f9fb5',
  '#e0669b',
  '#a98a1c',
  '#8a8f96',
]
const DARK = [
  '#7c9afa',
  '#ff8e16',
  '#179650',
  '#c363b6',
  '#3fcadb',
  '#ff537f',
  '#dbc47e',
  '#c5c6c5',
  '#5b74d6',
  '#c96a2b',
  '#9fd356',
  '#8f5fd6',
  '#2f8fa3',
  '#ffa3bd',
  '#a08a3c',
  '#858b94',
]

export type ColourOf = (name: string, theme: Theme) => string

/** The number of colours to choose from. */
export const COLOURS = LIGHT.length
export const colourAt = (place: number, theme: Theme): string => itemAt(paletteOf(theme), place)

/** The default colour of a name: the same on every page, in every share and in both themes. */
export const colourOf: ColourOf = (name, theme) => colourAt(chosen()[jobOf(name)] ?? placeOf(name), theme)

/**
 * Like `colourOf`, but names that are shown together get different colours while there are unused ones. Names are in
 * the order in which their jobs started, so a new job does not change the colours of earlier ones.
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
        // First the safe colours, then the other half, then both again.
        const half = Math.floor(places.size / SAFE_COLOURS)
        const first = (half % (LIGHT.length / SAFE_COLOURS)) * SAFE_COLOURS
        const round = Math.floor(places.size / LIGHT.length)
        let place = placeOf(one)
        while ((taken.get(first + place) ?? 0) > round) place = (place + 1) % SAFE_COLOURS
        place += first
        places.set(one, place)
        taken.set(place, (taken.get(place) ?? 0) + 1)
      }
    }
    return colourAt(choiceOf(jobOf(name)) ?? places.get(name) ?? placeOf(name), theme)
  }
}

/**
 * The job part of `batch / job`, as jobs of several batches are named, so that a job has the same colour everywhere.
 */
function jobOf(name: string): string {
  const cut = name.lastIndexOf(' / ')
  return cut < 0 ? name : name.slice(cut + 3)
}

const KEY = 'colours'
const watchers = new Set<() => void>()
let kept: Record<string, number> | null = null

/** Colours that the user chose, by job; stored in this browser. */
function chosen(): Record<string, number> {
  if (kept === null) {
    kept = {}
    try {
      for (const [name, place] of Object.entries(JSON.parse(localStorage.getItem(KEY) ?? '{}')))
        if (typeof place === 'number' && Number.isInteger(place) && place in LIGHT) kept[name] = place
    } catch {
      // Another program wrote this key.
    }
  }
  return kept
}

/** The jobs drawn in a chosen colour on the page with this path. */
const drawn = { path: '', jobs: new Set<string>() }

function choiceOf(job: string): number | undefined {
  const place = chosen()[job]
  if (place === undefined) return undefined
  if (drawn.path !== location.pathname) {
    drawn.path = location.pathname
    drawn.jobs.clear()
  }
  drawn.jobs.add(job)
  return place
}

/**
 * The chosen colours that this page shows, to save them with a view. Choices of other pages would reveal their jobs'
 * names.
 */
export function shownColours(): Record<string, number> {
  if (drawn.path !== location.pathname) return {}
  const jobs = Object.entries(chosen()).filter(([job]) => drawn.jobs.has(job))
  return Object.fromEntries(jobs.slice(0, 1000))
}

/** Adds a view's choices to those of this browser, overriding them for the same job. */
export function takeColours(colours: Readonly<Record<string, number>>): void {
  const known = Object.entries(colours).filter(([, place]) => place in LIGHT)
  if (known.length > 0) set({ ...chosen(), ...Object.fromEntries(known) })
}

/** @param place index in the palette; null restores the default */
export function chooseColour(name: string, place: number | null): void {
  const next = { ...chosen() }
  if (place === null) delete next[jobOf(name)]
  else next[jobOf(name)] = place
  set(next)
}

function set(next: Record<string, number>): void {
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
/** Changes with every choice, in this or another tab. */
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
  return (hash >>> 0) % SAFE_COLOURS
}
