import type { StoredMedia } from '../lib/api/media.ts'

/** Boxes and masks of images, as scripts send them. Nothing of it is trusted: what has another shape is left out. */

export interface Box {
  layer: string
  /** Shares of the image's width and height. */
  x: number
  y: number
  width: number
  height: number
  label: string
}
export interface Mask {
  layer: string
  url: string | null
  /** Names of classes by their number in the mask. */
  labels: ReadonlyMap<number, string>
}
export interface Layers {
  boxes: Box[]
  masks: Mask[]
}

type Fields = Readonly<Record<string, unknown>>
const MAX_BOXES = 1_000
const MAX_LABEL = 120

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) ? value : undefined
const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, MAX_LABEL) : undefined

export function layersOf(media: StoredMedia): Layers {
  const size = { width: numberOf(media.width) ?? 0, height: numberOf(media.height) ?? 0 }
  return { boxes: boxesOf(media.boxes, size).slice(0, MAX_BOXES), masks: masksOf(media.masks) }
}

interface Size {
  width: number
  height: number
}

function boxesOf(given: unknown, size: Size): Box[] {
  const layers = Array.isArray(given) ? { boxes: given } : (fieldsOf(given) ?? {})
  return Object.entries(layers).flatMap(([layer, value]) => {
    const fields = fieldsOf(value)
    const list: unknown = fields?.box_data ?? value
    const labels = fieldsOf(fields?.class_labels) ?? {}
    return Array.isArray(list) ? list.flatMap((box) => boxOf(box, layer, labels, size) ?? []) : []
  })
}

function boxOf(given: unknown, layer: string, labels: Fields, size: Size): Box | undefined {
  const box = fieldsOf(given)
  const place = box && placeOf(box)
  if (box === undefined || place === undefined) return undefined
  const [x, y, width, height] = place
  const isPixels = box.domain === 'pixel' || place.some((one) => one > 1)
  // Pixels without a size of the image say nothing.
  if (isPixels && !(size.width > 0 && size.height > 0)) return undefined
  const [across, down] = isPixels ? [size.width, size.height] : [1, 1]
  return {
    layer,
    x: x / across,
    y: y / down,
    width: width / across,
    height: height / down,
    label: labelOf(box, labels),
  }
}

function placeOf(box: Fields): readonly [number, number, number, number] | undefined {
  const at = fieldsOf(box.position) ?? box
  const [width, height] = [numberOf(at.width), numberOf(at.height)]
  const middle = Array.isArray(at.middle) ? at.middle.map(numberOf) : []
  const [x, y] = [numberOf(at.x) ?? numberOf(at.minX), numberOf(at.y) ?? numberOf(at.minY)]
  const [maxX, maxY] = [numberOf(at.maxX), numberOf(at.maxY)]
  if (x !== undefined && y !== undefined && maxX !== undefined && maxY !== undefined)
    return [x, y, Math.max(0, maxX - x), Math.max(0, maxY - y)]
  if (width === undefined || height === undefined || width < 0 || height < 0) return undefined
  if (x !== undefined && y !== undefined) return [x, y, width, height]
  const [centreX, centreY] = middle
  if (centreX === undefined || centreY === undefined) return undefined
  return [centreX - width / 2, centreY - height / 2, width, height]
}

function labelOf(box: Fields, labels: Fields): string {
  const name =
    textOf(box.box_caption) ??
    textOf(box.label) ??
    textOf(labels[String(box.class_id)]) ??
    textOf(box.class_id)
  const score = numberOf(box.score)
  return [name, score === undefined ? undefined : score.toFixed(2)].filter(Boolean).join(' ')
}

function masksOf(given: unknown): Mask[] {
  return Object.entries(fieldsOf(given) ?? {}).flatMap(([layer, value]) => {
    const mask = fieldsOf(value)
    if (mask === undefined || typeof mask.sha256 !== 'string') return []
    // Only addresses of this service: the policy of the page refuses all others.
    const url = typeof mask.url === 'string' && mask.url.startsWith('/api/') ? mask.url : null
    const labels = Object.entries(fieldsOf(mask.class_labels) ?? {}).flatMap(
      ([n, name]): [number, string][] => [[Number(n), String(name).slice(0, MAX_LABEL)]],
    )
    return [{ layer, url, labels: new Map(labels) }]
  })
}

/** The names of all layers of these values, boxes first. */
export function layerNames(values: readonly StoredMedia[]): string[] {
  const names = new Set<string>()
  for (const value of values) for (const box of layersOf(value).boxes) names.add(box.layer)
  for (const value of values) for (const mask of layersOf(value).masks) names.add(mask.layer)
  return [...names]
}

/** A colour for a name, the same everywhere: an index into the palette. */
export function placeOfName(name: string, places: number): number {
  let hash = 0
  for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0
  return hash % places
}
