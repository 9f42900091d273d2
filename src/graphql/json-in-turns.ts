import type { ExecutionResult } from 'graphql'
import type { Turns } from '../turns.ts'
import { Column } from './columns.ts'

/** How many values are written at once. */
const AT_ONCE = 2_000

/**
 * Writes the data of an answer as JSON while others get their turn.
 * @returns the result, with the function that yoga writes results with, and the length of the text
 */
export async function writeInTurns(
  result: ExecutionResult,
  turns: Turns,
): Promise<{ result: ExecutionResult; characters: number }> {
  if (result.data === undefined) return { result, characters: 0 }
  const data = await jsonOf(result.data, turns)
  const stringify = ({
    data: _data,
    stringify: _self,
    ...rest
  }: ExecutionResult & { stringify?: unknown }) => {
    const more = JSON.stringify(rest)
    return more === '{}' ? `{"data":${data}}` : `${more.slice(0, -1)},"data":${data}}`
  }
  return { result: Object.assign(result, { stringify }), characters: data.length }
}

/** The same text as that of JSON.stringify, of plain data. */
export async function jsonOf(value: unknown, turns: Turns): Promise<string> {
  const parts: string[] = []
  for (const part of partsOf(value)) {
    parts.push(part)
    if (turns.due) await turns.pass()
  }
  return parts.join('')
}

function* partsOf(given: unknown): Generator<string> {
  const value = valuesOf(given)
  if (isShort(value)) {
    yield JSON.stringify(value) ?? 'null'
    return
  }
  if (!Array.isArray(value)) {
    let before = '{'
    for (const [name, member] of Object.entries(value as object)) {
      if (member === undefined || typeof member === 'function') continue
      yield `${before}${JSON.stringify(name)}:`
      yield* partsOf(member)
      before = ','
    }
    yield before === '{' ? '{}' : '}'
    return
  }
  if (value.some(isNested)) {
    let before = '['
    for (const item of value) {
      yield before
      yield* partsOf(item)
      before = ','
    }
    yield ']'
    return
  }
  for (let at = 0; at < value.length; at += AT_ONCE) {
    const some = JSON.stringify(value.slice(at, at + AT_ONCE))
    yield `${at === 0 ? '[' : ','}${some.slice(1, -1)}`
  }
  yield ']'
}

/** The values of a list that holds a column as its only item. */
const valuesOf = (value: unknown): unknown =>
  Array.isArray(value) && value.length === 1 && value[0] instanceof Column ? value[0].values : value

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null

/** What is written at once: a single value, a short list of those, or an object of those. */
function isShort(value: unknown): boolean {
  if (!isNested(value)) return true
  const object = value as object
  if (Array.isArray(object)) return object.length <= AT_ONCE && !object.some(isNested)
  if ('toJSON' in object) return true
  for (const member of Object.values(object)) if (isNested(member)) return false
  return true
}
