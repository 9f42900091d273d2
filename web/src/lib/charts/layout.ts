import { textsIn } from '../address-values.ts'

/** How a user arranged charts: sections, order, sizes, what is hidden. A part of the address, so that views keep it. Pure. */

/** The width in columns, where 3 is the whole row, and the height in steps. */
export interface ChartSize {
  wide: number
  high: number
}
export const MAX_WIDE = 3
export const MAX_HIGH = 3

export interface ChartLayout {
  /** Ids of sections in order; others follow in their usual order. Ids without a series are sections that users made. */
  sections?: string[]
  /** The charts that come first in a section, in order. They leave the section of their name for it. */
  charts?: Record<string, string[]>
  /** Other titles of sections, by id. */
  titles?: Record<string, string>
  hidden?: string[]
  /** Charts with another size than one column and one step, as [wide, high]. */
  sizes?: Record<string, [number, number]>
}

export const ONE: ChartSize = { wide: 1, high: 1 }

/** A group of charts. The id is the first part of the names of its series, or the title it was made with. */
export interface Section {
  id: string
  title: string
  keys: readonly string[]
  /** Made by a user, so it may be removed when it is empty. */
  isMade: boolean
}

const MAX_NAMES = 500
const MAX_SECTIONS = 50
export const MAX_TITLE = 60
/** The section of pinned charts, which is always the first. */
export const PINNED = 'Pinned'
/** The section of computed series, whose names begin with `=`. */
export const FORMULAS = 'Formulas'
/** The section of media, whose names begin with it. */
export const MEDIA = 'media:'
export const mediaName = (key: string): string => `${MEDIA}${key}`
export const isMedia = (name: string): boolean => name.startsWith(MEDIA)
/** The section of series without a prefix. */
export const UNPREFIXED = 'Charts'

function names(value: unknown, most: number): string[] | undefined {
  const texts = textsIn(value)
  return texts && [...new Set(texts.slice(0, most))]
}

function record<T>(value: unknown, read: (one: unknown) => T | undefined): Record<string, T> | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const found = Object.entries(value)
    .slice(0, MAX_NAMES)
    .flatMap(([name, one]) => {
      const known = read(one)
      return known === undefined ? [] : [[name, known] as const]
    })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

const step = (value: unknown, most: number): number =>
  typeof value === 'number' && value >= 1 ? Math.min(most, Math.floor(value)) : 1

/** A layout without empty parts; undefined if nothing is arranged. */
function tidy(layout: ChartLayout): ChartLayout | undefined {
  const kept = Object.entries(layout).filter(
    ([, part]) => part !== undefined && (Array.isArray(part) ? part.length : Object.keys(part).length) > 0,
  )
  return kept.length > 0 ? (Object.fromEntries(kept) as ChartLayout) : undefined
}

/** Reads a layout of an address; ignores what is not one. */
export function readLayout(given: unknown): ChartLayout | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const { sections, charts, titles, hidden, sizes } = given as Record<string, unknown>
  const title = (one: unknown) =>
    typeof one === 'string' && one.trim() !== '' ? one.trim().slice(0, MAX_TITLE) : undefined
  const size = (one: unknown): [number, number] | undefined => {
    if (!Array.isArray(one) || typeof one[0] !== 'number') return undefined
    return [step(one[0], MAX_WIDE), step(one[1], MAX_HIGH)]
  }
  const found = {
    sections: names(sections, MAX_SECTIONS),
    charts: record(charts, (one) => names(one, MAX_NAMES)),
    titles: record(titles, title),
    hidden: names(hidden, MAX_NAMES),
    sizes: record(sizes, size),
  }
  return tidy(found as ChartLayout)
}

/** The section that a series is in unless it was moved: the part of its name before the first `/`. */
export function usualSection(key: string): string {
  if (key.startsWith('=')) return FORMULAS
  if (isMedia(key)) return MEDIA
  const cut = key.indexOf('/')
  return cut > 0 ? key.slice(0, cut) : UNPREFIXED
}

/**
 * The charts in sections. Pinned ones come first; then sections in the order of the layout, then the others in the order
 * of their first series. A hidden chart is left out.
 */
export function arranged(
  keys: readonly string[],
  pinned: ReadonlySet<string>,
  layout: ChartLayout = {},
): Section[] {
  const hidden = new Set(layout.hidden)
  const home = new Map(
    Object.entries(layout.charts ?? {}).flatMap(([id, own]) => own.map((key) => [key, id] as const)),
  )
  const found = new Map<string, string[]>()
  for (const key of keys) {
    if (hidden.has(key)) continue
    const id = pinned.has(key) ? PINNED : (home.get(key) ?? usualSection(key))
    found.set(id, [...(found.get(id) ?? []), key])
  }
  const usual = new Set(keys.map(usualSection))
  const ids = [...(found.has(PINNED) ? [PINNED] : []), ...(layout.sections ?? []), ...found.keys()]
  return [...new Set(ids)].flatMap((id) => {
    const own = found.get(id) ?? []
    const isMade = id !== PINNED && !usual.has(id)
    if (own.length === 0 && !(isMade && layout.sections?.includes(id))) return []
    return [{ id, title: layout.titles?.[id] ?? id, keys: inOrder(own, layout.charts?.[id]), isMade }]
  })
}

function inOrder(keys: readonly string[], first: readonly string[] = []): readonly string[] {
  const own = new Set(keys)
  const listed = new Set(first)
  return [...first.filter((key) => own.has(key)), ...keys.filter((key) => !listed.has(key))]
}

/** @param usual the size without an arrangement */
export const sizeOf = (layout: ChartLayout | undefined, key: string, usual = ONE): ChartSize => {
  const [wide, high] = layout?.sizes?.[key] ?? [usual.wide, usual.high]
  return { wide, high }
}

/** The layout after a chart was moved to a place of a section. */
export function withChart(
  layout: ChartLayout | undefined,
  sections: readonly Section[],
  chart: string,
  to: { section: string; at: number },
): ChartLayout | undefined {
  const charts = Object.fromEntries(
    Object.entries(layout?.charts ?? {}).map(([id, own]) => [id, own.filter((key) => key !== chart)]),
  )
  const shown = sections.find(({ id }) => id === to.section)?.keys ?? []
  const others = shown.filter((key) => key !== chart)
  const next = [...others.slice(0, to.at), chart, ...others.slice(to.at)]
  // What follows the last moved chart keeps its usual order, so it need not be in the address.
  const known = charts[to.section]?.length ?? 0
  charts[to.section] = next.slice(0, Math.max(known + 1, next.indexOf(chart) + 1)).slice(0, MAX_NAMES)
  return tidy({
    ...layout,
    charts: Object.fromEntries(Object.entries(charts).filter(([, own]) => own.length > 0)),
  })
}

/** The layout after a section was moved up or down by a number of places. */
export function withSection(
  layout: ChartLayout | undefined,
  sections: readonly Section[],
  id: string,
  by: number,
): ChartLayout | undefined {
  const ids = sections.map((section) => section.id).filter((one) => one !== PINNED)
  const from = ids.indexOf(id)
  const to = from + by
  if (from < 0 || to < 0 || to >= ids.length) return layout
  ids.splice(to, 0, ...ids.splice(from, 1))
  return tidy({ ...layout, sections: ids.slice(0, MAX_SECTIONS) })
}

/** The layout with a new, empty section at the end; unchanged if the title is taken. */
export function withNewSection(
  layout: ChartLayout | undefined,
  sections: readonly Section[],
  given: string,
): ChartLayout | undefined {
  const title = given.trim().slice(0, MAX_TITLE)
  const ids = sections.map(({ id }) => id).filter((id) => id !== PINNED)
  const isTaken = title === PINNED || sections.some((one) => one.id === title || one.title === title)
  if (title === '' || isTaken || ids.length >= MAX_SECTIONS) return layout
  return tidy({ ...layout, sections: [...ids, title] })
}

export function withTitle(
  layout: ChartLayout | undefined,
  id: string,
  given: string,
): ChartLayout | undefined {
  const title = given.trim().slice(0, MAX_TITLE)
  const { [id]: _, ...titles } = layout?.titles ?? {}
  return tidy({ ...layout, titles: title === '' || title === id ? titles : { ...titles, [id]: title } })
}

/** The layout without a section that a user made. Its charts return to their usual sections. */
export function withoutSection(layout: ChartLayout | undefined, id: string): ChartLayout | undefined {
  const { [id]: _charts, ...charts } = layout?.charts ?? {}
  const { [id]: _title, ...titles } = layout?.titles ?? {}
  return tidy({
    ...layout,
    charts,
    titles,
    sections: (layout?.sections ?? []).filter((one) => one !== id),
  })
}

export function withHidden(
  layout: ChartLayout | undefined,
  chart: string,
  hides: boolean,
): ChartLayout | undefined {
  const others = (layout?.hidden ?? []).filter((key) => key !== chart)
  return tidy({ ...layout, hidden: hides ? [...others, chart].slice(-MAX_NAMES) : others })
}

export function withSize(
  layout: ChartLayout | undefined,
  chart: string,
  { wide, high }: ChartSize,
  usual = ONE,
): ChartLayout | undefined {
  const { [chart]: _, ...sizes } = layout?.sizes ?? {}
  const size: [number, number] = [step(wide, MAX_WIDE), step(high, MAX_HIGH)]
  const isUsual = size[0] === usual.wide && size[1] === usual.high
  return tidy({ ...layout, sizes: isUsual ? sizes : { ...sizes, [chart]: size } })
}

/** The layout without the arrangement of media. */
export function withoutMedia(layout: ChartLayout | undefined): ChartLayout | undefined {
  const { [MEDIA]: _, ...charts } = layout?.charts ?? {}
  const sizes = Object.entries(layout?.sizes ?? {}).filter(([name]) => !isMedia(name))
  const hidden = layout?.hidden?.filter((name) => !isMedia(name)) ?? []
  return tidy({ ...layout, charts, sizes: Object.fromEntries(sizes), hidden })
}
