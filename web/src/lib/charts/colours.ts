import { useSyncExternalStore } from 'react'
import { itemAt } from '../checked.ts'
import type { Theme } from '../theme.ts'

/**
 * Any eight colours that follow each other, also around the end, are distinguishable, also with colour blindness; all of
 * them are with normal vision (test/web/colours.test.ts measures it).
 */
const LIGHT = [
  '#2e8e7c',
  '#f31873',
  '#7774fc',
  '#3b7843',
  '#7b44dc',
  '#8a77a9',
  '#ca2008',
  '#7c0099',
  '#869710',
  '#9c5f81',
  '#6291f2',
  '#f65c6d',
  '#009864',
  '#2967e4',
  '#8a2864',
  '#c87ca0',
  '#2b4697',
  '#5f501a',
  '#125238',
  '#a99030',
]
const DARK = [
  '#3b9d5a',
  '#f9cd49',
  '#9e82b2',
  '#8f8717',
  '#d1d89b',
  '#3bb3eb',
  '#59edd6',
  '#2c80ff',
  '#21a088',
  '#ff3588',
  '#97bd40',
  '#6f961a',
  '#bee476',
  '#d4baeb',
  '#5eefb4',
  '#7577ff',
  '#42c1b9',
  '#e0978b',
  '#c36b81',
  '#bca33a',
]

export interface ColourOf {
  (name: string, theme: Theme): string
  /** The dashes of a curve whose colour an earlier curve of the page has already. */
  dashOf?: (name: string) => readonly number[]
}

/** The number of colours to choose from. */
export const COLOURS = LIGHT.length
export const colourAt = (place: number, theme: Theme): string => itemAt(paletteOf(theme), place)
/** Of runs that are not known yet. */
const UNKNOWN: Record<Theme, string> = { light: '#8a8f96', dark: '#858b94' }
/** Of the first, second, third and fourth curve of a colour. */
export const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [9, 3, 2, 3]]

/**
 * The colours of runs: each job has the colour of its key, so it has the same one on every page. Jobs that started one
 * after the other have different colours.
 * @param names of the runs of the page, in the order in which equal colours get their dashes
 */
export function coloursOfRuns(
  names: () => readonly string[],
  keyOf: (name: string) => string | undefined,
  /** The name that a chosen colour is kept under. */
  runOf: (name: string) => string = jobOf,
): ColourOf {
  const placeOf = (name: string): number | undefined => {
    const key = keyOf(name)
    return key === undefined ? undefined : Number(BigInt(key) % BigInt(COLOURS))
  }
  return coloursBy(names, placeOf, runOf)
}

/** The colours of names such as groups, by their order. */
export function coloursAmong(names: readonly string[]): ColourOf {
  const places = new Map(names.map((name, i) => [name, i % COLOURS]))
  return coloursBy(
    () => names,
    (name) => places.get(name),
  )
}

function coloursBy(
  names: () => readonly string[],
  defaultOf: (name: string) => number | undefined,
  runOf: (name: string) => string = jobOf,
): ColourOf {
  const placeOf = (name: string): number | undefined => choiceOf(runOf(name)) ?? defaultOf(name)
  let dashes = new Map<string, readonly number[]>()
  let seen: { names: readonly string[]; choice: unknown } | undefined
  const colourOf: ColourOf = (name, theme) => {
    const place = placeOf(name)
    return place === undefined ? UNKNOWN[theme] : colourAt(place, theme)
  }
  colourOf.dashOf = (name) => {
    if (seen?.names !== names() || seen.choice !== chosen()) {
      seen = { names: names(), choice: chosen() }
      dashes = dashesOf(seen.names, placeOf)
    }
    return dashes.get(name) ?? []
  }
  return colourOf
}

function dashesOf(names: readonly string[], placeOf: (name: string) => number | undefined) {
  const used = new Map<number, number>()
  return new Map(
    names.map((name) => {
      const place = placeOf(name) ?? -1
      const before = used.get(place) ?? 0
      used.set(place, before + 1)
      return [name, DASHES[before % DASHES.length] ?? []] as const
    }),
  )
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
