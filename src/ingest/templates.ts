import type { CopyRows } from '../db/copy.ts'
import { type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { type PayloadTemplate, splitPayload, templateOf } from '../domain/events/index.ts'
import { shareOfHeap } from '../memory.ts'
import type { Checked } from './envelope.ts'

/** Characters of all templates in this server's cache, which has each of them twice at most. */
const MAX_CHARACTERS = shareOfHeap(1 / 256, 4_000_000)

/** A template that may not be stored yet. */
export interface NewTemplate extends PayloadTemplate {
  batchKey: number
}

/**
 * The templates of recent payloads (domain/events/payload.ts, decision 0022). The first event with a template is stored
 * as text: a template pays only if it is used again.
 */
export interface TemplateCache {
  /**
   * Packs the payload of an event, if an earlier event of its batch had the same template.
   * @param fresh the template is added if it may not be stored yet
   */
  pack(batchKey: number, checked: Checked, fresh: Map<string, NewTemplate>): Buffer | undefined
  /** Call it once the group that stores them is committed. */
  remember(templates: readonly NewTemplate[]): void
}

interface Known extends NewTemplate {
  /** Committed by this server. */
  stored: boolean
}

export function createTemplateCache(most = MAX_CHARACTERS): TemplateCache {
  /** By batch and template, the oldest first. null: seen once. */
  const known = new Map<string, Known | null>()
  let characters = 0
  function add(name: string): void {
    characters += name.length
    known.set(copyOf(name), null)
    for (const oldest of known.keys()) {
      if (characters <= most) break
      known.delete(oldest)
      characters -= oldest.length
    }
  }
  return {
    pack(batchKey, { event, eventId, at, json }, fresh) {
      if (event.event_type !== 'job_epoch' && event.event_type !== 'resource_snapshot') return undefined
      const split = splitPayload(json, { eventId, timestamp: event.timestamp, at })
      if (split === undefined) return undefined
      const name = `${batchKey} ${split.template}`
      let found = known.get(name)
      if (found === undefined) {
        add(name)
        return undefined
      }
      if (found === null) {
        found = { ...templateOf(copyOf(split.template)), batchKey, stored: false }
        known.set(name, found)
      }
      if (!found.stored) fresh.set(name, found)
      return Buffer.concat([found.hash, split.numbers])
    },
    remember(templates) {
      for (const template of templates) (template as Known).stored = true
    },
  }
}

/** V8 keeps the text that another was cut from. A payload is cut from the body of its request, which has megabytes. */
const copyOf = (text: string): string => Buffer.from(text).toString()

/** Another server may have stored the same, or this one in a commit whose answer was lost. */
export const storeTemplates = (templates: readonly NewTemplate[]): SqlFragment => sqlFragment`
  insert into payload_templates (batch_key, hash, template, epoch_at)
  select batch_key, decode(hash, 'hex'), template, epoch_at
  from json_to_recordset(${JSON.stringify(templates.map(row))}::text::json)
    as x (batch_key bigint, hash text, template text, epoch_at int)
  on conflict do nothing`

const row = ({ batchKey, hash, template, epochAt }: NewTemplate) => ({
  batch_key: batchKey,
  hash: hash.toString('hex'),
  template,
  epoch_at: epochAt,
})

/** Adds the two columns of an event's payload to a row for COPY. */
export function putPayload(rows: CopyRows, json: string, packed: Buffer | undefined): void {
  if (packed === undefined) rows.string(json).null()
  else rows.null().bytes(packed)
}
