/**
 * Steps: the whole numbers on the x-axis of a series, called `epoch` in events and tables. They go from -(2^53 - 1) to
 * 2^53 - 1, the integers that a double holds exactly, because tokens and environment steps exceed 32 bits.
 *
 * The tables hold a step in two integer columns: it is `epoch_high` * 2^32 + `epoch`, where `epoch` is signed, so steps of
 * 32 bits have a high part of 0. Ordering by the high part and then the low part orders by step
 * (docs/decisions/0031-steps-of-two-columns.md).
 */

export const isStep = (value: unknown): value is number => Number.isSafeInteger(value)
export const STEP_RANGE = 'must be a whole number from -(2^53 - 1) to 2^53 - 1'

const TWO_32 = 2 ** 32
export const lowOf = (step: number): number => step | 0
/** Exact for every step: the difference is a multiple of 2^32. */
export const highOf = (step: number): number => (step - (step | 0)) / TWO_32
export const stepFrom = (high: number, low: number): number => high * TWO_32 + low
