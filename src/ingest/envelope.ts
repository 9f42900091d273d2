import { isUtf8 } from 'node:buffer'
import { isRecord } from '../checked.ts'
import { canonicalInstant } from '../db/instant.ts'
import { accepts, type Event, eventSchema, type Incoming, seriesOf } from '../domain/events/index.ts'
import { stampOf } from '../domain/merge.ts'
import { type FieldError, Problem } from '../problem.ts'
import { messageOf } from '../thrown.ts'
import type { ReceiptClock } from './receipt-clock.ts'

/**
 * An event after steps 3, 4 and 6 of specification §4.1: the envelope's shape, schema_version, and the data of its type.
 * All three are checked in one pass. Invalid data are reported only if the event is not a repeat (step 5), so `dataFault`
 * carries that refusal.
 */
export interface Checked extends Incoming {
  eventId: string
  dataFault: Problem | undefined
}

export const MAX_EVENT_BYTES = 256 * 1024
export const MAX_DEPTH = 64
const ESCAPED_SUSPECT = /\\u(0000|[dD][89a-fA-F])/

export interface Body {
  value: unknown
  text: string
  /** False if no text of the body can hold a NUL or a lone surrogate, so that strings need no further check. */
  suspect: boolean
}

/** @throws Problem invalid_json, invalid_text (bytes that are not UTF-8) */
export function parseBody(bytes: Buffer | undefined): Body {
  if (bytes === undefined || bytes.length === 0)
    throw new Problem('invalid_json', { detail: 'The body is empty' })
  if (!isUtf8(bytes)) throw new Problem('invalid_text', { detail: 'The body is not UTF-8' })
  const text = bytes.toString('utf8')
  try {
    return { value: JSON.parse(text), text, suspect: ESCAPED_SUSPECT.test(text) }
  } catch (error) {
    throw new Problem('invalid_json', { detail: messageOf(error) })
  }
}

/**
 * @param value one parsed event
 * @param text its JSON, as received
 * @param reception of its request
 * @returns the checked event, or the refusal: unsupported_schema_version, invalid_envelope, invalid_text, too_deep,
 *   event_too_large
 */
export function checkEvent(
  value: unknown,
  { text, suspect, reception }: { text?: string | undefined; suspect: boolean; reception: ReceiptClock },
): Checked | Problem {
  if (!isRecord(value)) {
    const message = Array.isArray(value)
      ? 'must be an object; an array of events goes to /api/events/batch'
      : 'must be an object'
    return refuse('invalid_envelope', [{ path: '', message }])
  }
  const version = value.schema_version
  if (typeof version === 'string' && version !== '1.1') {
    return new Problem('unsupported_schema_version', { detail: 'schema_version must be "1.1"' })
  }
  const faults = walk(value, suspect)
  if (faults.depth !== undefined) return faults.depth
  if (faults.text !== undefined) return faults.text
  let errors = accepts(value) ? [] : (eventSchema.safeParse(value).error?.issues ?? []).map(fieldError)
  const envelopeErrors = errors.filter((e) => !e.path.startsWith('data.'))
  if (envelopeErrors.length > 0) {
    return refuse('invalid_envelope', envelopeErrors)
  }
  const event = value as Event
  const overflows = faults.overflow.filter((path) => !errors.some((e) => e.path === path))
  errors = [...errors, ...overflows.map((path) => ({ path, message: 'is a number too large for a double' }))]
  if (errors.some((e) => !e.path.startsWith('data.'))) return refuse('invalid_envelope', errors)

  const json = text === undefined || text.includes('\n') || text.includes('\r') ? JSON.stringify(value) : text
  if (json.length * 3 > MAX_EVENT_BYTES && Buffer.byteLength(json) > MAX_EVENT_BYTES) {
    return new Problem('event_too_large')
  }
  const found = event.event_type === 'job_epoch' && errors.length === 0 ? seriesOf(event.data) : undefined
  if (found !== undefined) errors = found.mediaFaults
  const sent = canonicalInstant(event.timestamp)
  const at = sent > reception.aheadAfter ? reception.next() : sent
  const eventId = event.event_id.toLowerCase()
  return {
    event,
    eventId,
    json,
    at,
    receipt: reception,
    live: sent >= reception.aliveFrom || (sent >= reception.rightFrom && sent <= reception.rightUntil),
    stamp: stampOf(at, ENDS.has(event.event_type), eventId),
    dbId: 0,
    series: found?.series,
    sentSeries: found?.series,
    media: found === undefined || found.media.length === 0 ? undefined : found.media,
    ignored: found === undefined || found.ignored.length === 0 ? undefined : found.ignored,
    dataFault: errors.length === 0 ? undefined : refuse('invalid_event_data', errors),
  }
}

const ENDS = new Set(['batch_done', 'batch_failed', 'job_done', 'job_failed'])

const refuse = (code: 'invalid_envelope' | 'invalid_event_data', errors: FieldError[]): Problem =>
  new Problem(code, {
    errors,
    detail: errors
      .map((e) => `${e.path} ${e.message}`.trim())
      .slice(0, 3)
      .join('; '),
  })

const fieldError = (issue: { path: PropertyKey[]; message: string }): FieldError => ({
  path: issue.path.map(String).join('.'),
  message: issue.message.replace(/^Invalid input: /, ''),
})

/** Checks that the schema cannot make: depth, forbidden text, and numbers that parsing turned into infinity. */
function walk(root: object, suspect: boolean): { depth?: Problem; text?: Problem; overflow: string[] } {
  const overflow: string[] = []
  let text: Problem | undefined
  const visit = (node: object, depth: number, path: string): boolean => {
    if (depth > MAX_DEPTH) return false
    for (const key in node) {
      const value: unknown = (node as Record<string, unknown>)[key]
      if (typeof value === 'number') {
        if (!Number.isFinite(value)) overflow.push(path + key)
      } else if (typeof value === 'object' && value !== null) {
        if (!visit(value, depth + 1, `${path}${key}.`)) return false
      } else if (suspect && typeof value === 'string') {
        if (isForbidden(value)) text ??= forbidden(path + key)
      }
      if (suspect && isForbidden(key)) text ??= forbidden(path.slice(0, -1))
    }
    return true
  }
  if (!visit(root, 1, '')) return { depth: new Problem('too_deep'), overflow }
  return text === undefined ? { overflow } : { text, overflow }
}

const isForbidden = (text: string): boolean => text.includes('\0') || !text.isWellFormed()
const forbidden = (path: string): Problem =>
  new Problem('invalid_text', { errors: [{ path, message: 'holds a NUL character or a lone surrogate' }] })
