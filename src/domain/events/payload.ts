import { createHash } from 'node:crypto'
import type { Db, Fragment } from '../../db/sql.ts'

/**
 * The text of an event, split into its template, which the events of a job share, and its numbers. Numbers keep the
 * form in which they were written, so the text can be restored byte for byte.
 *
 * In a template, characters that valid JSON never contains replace what was taken out.
 */
const NUMBER = '\u0001'
const EVENT_ID = '\u0002'
/** The stored instant as text of milliseconds, seconds, and microseconds. */
const MILLISECONDS = '\u0003'
const SECONDS = '\u0004'
const MICROSECONDS = '\u0005'

export interface SplitPayload {
  template: string
  /** The numbers with separators, each character half a byte. */
  numbers: Buffer
}

export interface PayloadTemplate {
  hash: Buffer
  template: string
  /** Which of its numbers, from 1, is `data.epoch`. */
  epochAt: number | null
}

const HASH_BYTES = 6
const QUOTE = 34
const BACKSLASH = 92
const MINUS = 45
const NINE = 57
const SEPARATOR = 15
/** Longer texts are stored without a template. */
const MAX_LENGTH = 16_384

/** The value of each character of a number; 255 for any other. */
const NIBBLES = new Uint8Array(128).fill(255)
for (const [value, character] of [...'0123456789.-+eE'].entries()) NIBBLES[character.charCodeAt(0)] = value

const nibbles = new Uint8Array(MAX_LENGTH)

/**
 * @param json an event's text, one line of valid JSON
 * @param event what the text contains, and `at`, the canonical instant that is stored
 * @returns undefined for a text that is too long
 */
export function splitPayload(
  json: string,
  event: { eventId: string; timestamp: string; at: string },
): SplitPayload | undefined {
  if (json.length > MAX_LENGTH) return undefined
  const timeMark = markOf(event)
  const escapes = json.includes('\\')
  let template = ''
  let begun = 0
  let used = 0
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) {
      const from = at + 1
      if (!escapes) at = json.indexOf('"', from)
      else for (at = from; json.charCodeAt(at) !== QUOTE; at++) if (json.charCodeAt(at) === BACKSLASH) at++
      const length = at - from
      if (length === event.eventId.length && json.startsWith(event.eventId, from)) {
        template += json.slice(begun, from) + EVENT_ID
        begun = at
      } else if (
        timeMark !== undefined &&
        length === event.timestamp.length &&
        json.startsWith(event.timestamp, from)
      ) {
        template += json.slice(begun, from) + timeMark
        begun = at
      }
    } else if (code === MINUS || (code <= NINE && (NIBBLES[code] as number) < 10)) {
      template += json.slice(begun, at) + NUMBER
      if (used > 0) nibbles[used++] = SEPARATOR
      for (;;) {
        const nibble = NIBBLES[json.charCodeAt(at)]
        if (nibble === undefined || nibble === 255) break
        nibbles[used++] = nibble
        at++
      }
      begun = at--
    }
  }
  // Padded to whole bytes: one more separator does no harm.
  if (used % 2 === 1) nibbles[used++] = SEPARATOR
  const numbers = Buffer.allocUnsafe(used / 2)
  for (let i = 0; i < numbers.length; i++)
    numbers[i] = ((nibbles[2 * i] as number) << 4) | (nibbles[2 * i + 1] as number)
  return { template: template + json.slice(begun), numbers }
}

/** The numbers of a packed payload as they were written, behind the hash of its template. */
export function splitPacked(packed: Uint8Array): { hash: Buffer; texts: string[] } {
  const bytes = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  const text = bytes
    .toString('hex', HASH_BYTES)
    .replace(/[a-f]/g, (digit) => BEYOND_DIGITS[parseInt(digit, 16) - 10] as string)
  const texts = (text.endsWith(',') ? text.slice(0, -1) : text).split(',')
  return { hash: bytes.subarray(0, HASH_BYTES), texts: text === '' ? [] : texts }
}

/** What `splitPacked` split. @param texts of characters that a number has */
export function joinPacked(hash: Uint8Array, texts: readonly string[]): Buffer {
  const hex = texts
    .join(',')
    .replace(/[^0-9]/g, (character) => (BEYOND_DIGITS.indexOf(character) + 10).toString(16))
  return Buffer.concat([hash, Buffer.from(hex.length % 2 === 1 ? `${hex}f` : hex, 'hex')])
}
const BEYOND_DIGITS = '.-+eE,'

/** The form of the timestamp; undefined if it cannot be restored from the stored instant. */
function markOf({ timestamp, at }: { timestamp: string; at: string }): string | undefined {
  // Canonical: yyyy-mm-ddThh:mm:ss.uuuuuuZ
  if (timestamp === at) return MICROSECONDS
  if (timestamp.length === 24 && at.endsWith('000Z') && at.startsWith(timestamp.slice(0, 23)))
    return MILLISECONDS
  if (timestamp.length === 20 && at.endsWith('.000000Z') && at.startsWith(timestamp.slice(0, 19)))
    return SECONDS
  return undefined
}

export function templateOf(template: string): PayloadTemplate {
  return {
    hash: createHash('sha256').update(template).digest().subarray(0, HASH_BYTES),
    template,
    epochAt: epochAt(template),
  }
}

/** A template with numbers in place of its placeholders is JSON again, and shows which one is the epoch. */
function epochAt(template: string): number | null {
  let n = 0
  let numbered = template.replaceAll(NUMBER, () => String(++n))
  for (const mark of [EVENT_ID, MILLISECONDS, SECONDS, MICROSECONDS]) numbered = numbered.replaceAll(mark, '')
  const { data } = JSON.parse(numbered) as { data?: { epoch?: unknown } }
  return typeof data?.epoch === 'number' ? data.epoch : null
}

/** SQL: joins the template `t` of an event `e`, if its payload has one. Goes after `from events e`. */
export const withTemplate = (db: Db): Fragment =>
  db`left join payload_templates t on t.batch_key = e.batch_key and t.hash = substr(e.packed, 1, ${HASH_BYTES}::int)`

const numbersOf = (db: Db): Fragment =>
  db`translate(encode(substr(e.packed, ${HASH_BYTES}::int + 1), 'hex'), 'abcdef', '.-+eE,')`

/** SQL: the text of an event `e` with its template `t`; null once it is purged. */
export const payloadText = (db: Db): Fragment => db`coalesce(e.payload, (
  select string_agg(piece || coalesce(number, ''), '' order by n)
  from rows from (
    string_to_table(
      replace(replace(replace(replace(t.template, chr(2), e.event_id::text),
        chr(3), to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')),
        chr(4), to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')),
        chr(5), to_char(e.ts at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')), chr(1)),
    string_to_table(${numbersOf(db)}, ',')) with ordinality as u (piece, number, n)))`

/** SQL: `data.epoch` of a job_epoch `e` with its template `t`; null once it is purged. */
export const payloadEpoch = (db: Db): Fragment => db`(case when e.payload is null
  then split_part(${numbersOf(db)}, ',', t.epoch_at) else e.payload::json #>> '{data,epoch}' end)::numeric::bigint`
