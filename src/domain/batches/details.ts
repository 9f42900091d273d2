import { type Merged, mergeFields } from '../merge.ts'
import { MAX_TAGS } from '../tags.ts'

/**
 * Details of a run (contract §10): its name, group, notes, configuration and summary. The events `batch_start`,
 * `batch_done`, `batch_failed` may bring them, and a `batch_start` with `data.update: true`, which changes nothing
 * else but the tags. Configuration and summary are merged by key; the later timestamp wins. Pure.
 */

/** The longest name and group, in characters; longer ones are cut. The page shows them in one line. */
export const MAX_LABEL = 256
/** The longest notes, in characters; longer ones are cut. */
export const MAX_NOTES = 65_536

/** The part of a batch with its details. */
interface Detailed {
  details: Merged | null
}

export interface Details {
  name: string | null
  group: string | null
  notes: string | null
  config: Record<string, unknown> | null
  summary: Record<string, unknown> | null
}

/** Merges the details of an event into the batch. */
export function noteDetails(
  batch: Detailed & { changed: { summary: boolean } },
  data: Record<string, unknown>,
  stamp: string,
): void {
  const fields: Record<string, unknown> = Object.create(null)
  for (const name of ['name', 'group'] as const) {
    const label = labelOf(data[name])
    if (label !== undefined) fields[name] = label
  }
  if (typeof data.notes === 'string') fields.notes = cut(data.notes, MAX_NOTES)
  for (const name of ['config', 'summary'] as const) {
    const value = data[name]
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue
    for (const [key, item] of Object.entries(value)) fields[`${name}/${key}`] = item
  }
  if (Object.keys(fields).length === 0) return
  batch.details = mergeFields(batch.details, fields, stamp)
  batch.changed.summary = true
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null)

/** The tags that an event brings; undefined if it has none. */
export const tagsIn = (data: Record<string, unknown>): string[] | undefined =>
  Array.isArray(data.tags) ? data.tags.filter((tag) => typeof tag === 'string').slice(0, MAX_TAGS) : undefined

/** Keeps the tags of an update beside those of the starts: an update may arrive before the first start. */
export function noteTags(
  batch: Detailed & { changed: { summary: boolean } },
  tags: string[] | undefined,
  stamp: string,
): undefined {
  if (tags === undefined) return
  batch.details = mergeFields(batch.details, { tags }, stamp)
  batch.changed.summary = true
}

/** The tags that the newest event with some brought, a start or an update; null if none did. */
export function sentTags({ start, details }: Detailed & { start: Merged | null }): unknown {
  const started = stampedTags(start)
  const updated = stampedTags(details)
  return (started.stamp > updated.stamp ? started : updated).tags
}

const stampedTags = (merged: Merged | null): { tags: unknown; stamp: string } =>
  merged !== null && Object.hasOwn(merged.values, 'tags')
    ? { tags: merged.values.tags, stamp: merged.stamps?.tags ?? merged.stamp }
    : { tags: null, stamp: '' }

/** The merged details; null for those that no event brought. */
export function detailsOf({ details }: Detailed): Details {
  const values = details?.values ?? {}
  return {
    name: textOf(values.name),
    group: textOf(values.group),
    notes: textOf(values.notes),
    config: under(details, 'config/'),
    summary: under(details, 'summary/'),
  }
}

function under(details: Merged | null, prefix: string): Record<string, unknown> | null {
  const fields: Record<string, unknown> = Object.create(null)
  let found = false
  for (const [name, value] of Object.entries(details?.values ?? {})) {
    if (!name.startsWith(prefix)) continue
    fields[name.slice(prefix.length)] = value
    found = true
  }
  return found ? fields : null
}

/** The value as one line of text; undefined if it is not a text or has more lines. */
function labelOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const label = cut(value.replace(/\p{Cc}+/gu, ' ').trim(), MAX_LABEL).trim()
  return label === '' ? undefined : label
}

const cut = (text: string, most: number): string =>
  text.length <= most ? text : [...text].slice(0, most).join('')
