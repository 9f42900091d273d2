export const OPERATORS = {
  ':': 'has',
  '=': 'eq',
  '==': 'eq',
  '!=': 'ne',
  '<': 'lt',
  '<=': 'le',
  '>': 'gt',
  '>=': 'ge',
} as const
export type Sign = keyof typeof OPERATORS
export type Operator = (typeof OPERATORS)[Sign]

/** A part of a query, from one character to before another. */
export interface Span {
  from: number
  to: number
}
/** `lr<0.01`: a name, an operator and a value. */
export interface Comparison extends Span {
  kind: 'is'
  name: string
  op: Operator
  /** Without quotation marks. */
  value: string
}
/** A word or a quoted phrase that is searched in texts. */
export interface Words extends Span {
  kind: 'words'
  text: string
}
export type Term = Comparison | Words
export type Query = { kind: 'and' | 'or'; parts: readonly Query[] } | { kind: 'not'; part: Query } | Term

/** A part of a query that is not understood. */
export interface Fault extends Span {
  message: string
}
export interface Parsed {
  /** Null for an empty query, which matches everything, and for one with a fault. */
  query: Query | null
  fault: Fault | null
}
