import type { IncomingHttpHeaders } from 'node:http'
import { Problem } from '../../problem.ts'

/** From the first byte to the last, both included. */
export interface ByteRange {
  from: number
  to: number
}

/**
 * The range that a request asks for (RFC 9110 §14); undefined for all of it, as for a header with several ranges or one
 * that is not understood, and if `If-Range` names another entity.
 * @throws Problem range_not_satisfiable
 */
export function rangeOf(
  { range, 'if-range': ifRange }: IncomingHttpHeaders,
  etag: string,
  size: number,
): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (ifRange !== undefined && ifRange !== etag) return undefined
  const from = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const to = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (first !== '' && last !== '' && Number(last) < from) return undefined
  if (from > to)
    throw new Problem('range_not_satisfiable', { headers: { 'content-range': `bytes */${size}` } })
  return { from, to }
}
