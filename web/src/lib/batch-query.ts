import type { BatchFilter } from './api/batches.ts'
import type { Batch } from './api/types.ts'

/** What stands in the query field: `status:failed tag:night resnet "two words"`. */
const NAMED = ['status', 'tag', 'host', 'owner'] as const
type Named = (typeof NAMED)[number]

export interface ParsedQuery {
  filter: BatchFilter
  /** A word that names a filter which there is not, to be told. */
  unknown: string[]
}

export function parseQuery(text: string): ParsedQuery {
  const filter: Record<string, string[]> = {}
  const unknown: string[] = []
  for (const [, name, quoted, bare] of text.matchAll(/(?:([a-z_]+):)?(?:"([^"]*)"|([^\s"]+))/gi)) {
    const value = quoted ?? bare ?? ''
    if (value === '') continue
    if (name === undefined) filter.q = [...(filter.q ?? []), value]
    else if (NAMED.includes(name.toLowerCase() as Named)) {
      const key = name.toLowerCase()
      filter[key] = [...(filter[key] ?? []), value]
    } else unknown.push(`${name}:`)
  }
  // Several plain words are looked for together, as they were typed.
  if (filter.q) filter.q = [filter.q.join(' ')]
  return { filter, unknown }
}

/** Adds `name:value` to the text, or takes it out. */
export function toggle(text: string, name: Named, value: string): string {
  const word = `${name}:${/\s/.test(value) ? `"${value}"` : value}`
  const words = text.match(/(?:[a-z_]+:)?(?:"[^"]*"|[^\s"]+)/gi) ?? []
  const without = words.filter((one) => one.toLowerCase() !== word.toLowerCase())
  return (without.length < words.length ? without : [...words, word]).join(' ')
}

/** Whether a batch that the stream tells of belongs to the list: as the server would say. */
export function matches(batch: Batch, { status, tag, host, owner, q }: BatchFilter): boolean {
  const among = (
    wanted: readonly string[] | undefined,
    values: readonly (string | null | undefined)[],
  ): boolean =>
    wanted === undefined ||
    wanted.some((one) => values.some((value) => value?.toLowerCase() === one.toLowerCase()))
  const text = [batch.id, batch.experiment_type, batch.command, batch.notes, ...batch.tags]
  return (
    among(status, [batch.status]) &&
    among(tag, batch.tags) &&
    among(host, [batch.host]) &&
    among(owner, [batch.owner?.id, batch.owner?.name]) &&
    (q === undefined || q.some((one) => text.some((part) => part?.toLowerCase().includes(one.toLowerCase()))))
  )
}
