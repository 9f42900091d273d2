import { z } from 'zod'

const DECIMAL = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i

/**
 * A number of an address, as text in decimals. What JavaScript takes for one as well (nothing at all, blanks, `0x10`,
 * `Infinity`) stays text, which `number` refuses. A default belongs to `number`, or the API's description loses it.
 */
export const numberText = <T extends z.ZodType<unknown, unknown>>(number: T) =>
  z.preprocess((text) => (typeof text === 'string' && DECIMAL.test(text) ? Number(text) : text), number)
