import { z } from 'zod'

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * A number in a query, as decimal text. Other text that JavaScript converts to a number (an empty text, spaces, `0x10`,
 * `Infinity`) is not converted, so `number` refuses it. Set a default on `number`; otherwise the OpenAPI document lacks
 * it.
 */
export const numberText = <T extends z.ZodType<unknown, unknown>>(number: T) =>
  z.preprocess((text) => (typeof text === 'string' && DECIMAL.test(text) ? Number(text) : text), number)
