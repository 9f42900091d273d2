import { Problem } from '../../problem.ts'

/** Answers for language models: small, and honest about what they leave out. This file does no I/O. */

/** The longest answer by default, in tokens, and the range that a caller may choose from. */
export const TOKENS = { usual: 3_500, least: 300, most: 20_000 } as const
/** Characters of a token in JSON with many numbers, at the least. */
const CHARACTERS = 2.5

export type Fields = Record<string, unknown>

/** An error that the caller can mend: it is an answer of the tool, not of the protocol. */
export class ToolError extends Error {}

/** JSON without empty fields. */
export function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(compact)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value)
    .map(([name, one]): [string, unknown] => [name, compact(one)])
    .filter(([, one]) => one !== null && one !== undefined && one !== '' && !isEmpty(one))
  return Object.fromEntries(kept)
}

const isEmpty = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const sizeOf = (value: unknown): number => JSON.stringify(value)?.length ?? 0

/** An item of a list, and the cursor of the list after it. */
export interface Item {
  value: unknown
  cursor: string
}

/**
 * A list that fits: as many items as there is room for, at least one; `next_cursor` continues after them.
 * @param list.total the number of all items, if it is known
 * @param list.more whether there are further items than these
 */
export function listAnswer(
  head: Fields,
  name: string,
  list: { items: readonly Item[]; more: boolean; total?: number | undefined },
  tokens: number,
): Fields {
  const room = tokens * CHARACTERS - sizeOf(compact(head)) - 300
  const shown: unknown[] = []
  let used = 0
  let last: string | null = null
  for (const { value, cursor } of list.items) {
    const item = shorten(compact(value), Math.max(600, room - used))
    const size = sizeOf(item) + 1
    if (shown.length > 0 && used + size > room) break
    shown.push(item)
    used += size
    last = cursor
  }
  const cut = shown.length < list.items.length || list.more
  const total = list.total ?? (list.more ? undefined : list.items.length)
  return {
    ...(compact(head) as Fields),
    [name]: shown,
    ...(list.total !== undefined && { total: list.total }),
    next_cursor: cut ? last : null,
    ...(cut && {
      left_out: `${total === undefined ? 'more' : 'some'} ${name} are left out: ${shown.length} are shown here${
        total === undefined ? '' : ` of ${total}`
      }. Call again with cursor = next_cursor.`,
    }),
  }
}

/** One object that fits: long texts and long lists in it are cut, and it says so. */
export function objectAnswer(value: Fields, tokens: number): Fields {
  const whole = compact(value) as Fields
  const room = tokens * CHARACTERS
  if (sizeOf(whole) <= room) return whole
  for (let most = 4_000; most >= 40; most = Math.floor(most / 2)) {
    const cut = cutAll(whole, most) as Fields
    if (sizeOf(cut) <= room - 200) return { ...cut, left_out: LEFT_OUT }
  }
  return { ...(cutAll(whole, 20) as Fields), left_out: LEFT_OUT }
}
const LEFT_OUT =
  'Long texts, lists and objects are cut where they end in "…". Ask for less, or with a greater max_tokens.'

/** An item that is too long alone is cut. */
function shorten(value: unknown, most: number): unknown {
  if (sizeOf(value) <= most) return value
  for (let limit = 1_000; limit >= 20; limit = Math.floor(limit / 2)) {
    const cut = cutAll(value, limit)
    if (sizeOf(cut) <= most) return cut
  }
  return cutAll(value, 10)
}

/** @param most characters of a text, and a twentieth of it elements of a list or an object */
function cutAll(value: unknown, most: number): unknown {
  const count = Math.max(5, Math.floor(most / 20))
  if (typeof value === 'string')
    return value.length <= most ? value : `${value.slice(0, most).toWellFormed()}…`
  if (Array.isArray(value)) {
    const kept = value.slice(0, count).map((one) => cutAll(one, most))
    return value.length <= count ? kept : [...kept, `… ${value.length - count} more`]
  }
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value)
  const kept = entries.slice(0, count).map(([name, one]) => [name, cutAll(one, most)] as const)
  return {
    ...Object.fromEntries(kept),
    ...(entries.length > count && { '…': `${entries.length - count} more` }),
  }
}

/** The cursor of a list that has none of its own: a position. */
export const positionCursor = (position: number): string =>
  Buffer.from(`at ${position}`).toString('base64url')
export function positionOf(cursor: string | undefined): number {
  if (cursor === undefined) return 0
  const position = Number(/^at (\d{1,9})$/.exec(Buffer.from(cursor, 'base64url').toString())?.[1])
  if (!Number.isInteger(position))
    throw new ToolError('cursor: use the next_cursor of the last answer of this tool')
  return position
}

/** The text of an error for the caller; unknown errors are thrown again. */
export function toolErrorText(error: unknown): string {
  if (error instanceof ToolError) return error.message
  if (error instanceof Problem && error.status < 500) return `${error.message} (${error.code})`
  throw error
}
