import type { Comparison, Operator, Query } from './types.ts'

const SIGNS: Record<Operator, string> = { has: ':', eq: '=', ne: '!=', lt: '<', le: '<=', gt: '>', ge: '>=' }

const inQuotes = (text: string): string => `"${text.replaceAll(/["\\]/g, '\\$&')}"`

/** The name as a query writes it. */
export const quotedName = (name: string): string =>
  /^[^\s"()\\:<>=!]+$/u.test(name) && !/^(and|or|not)$/i.test(name) ? name : inQuotes(name)
/** The value as a query writes it. */
export const quoted = (value: string): string => (/^[^\s"()\\<>=!]+$/u.test(value) ? value : inQuotes(value))

/** `name:value`, quoted where necessary. */
export const wordOf = (name: string, value: string): string => `${quotedName(name)}:${quoted(value)}`

export const printComparison = ({ name, op, value }: Pick<Comparison, 'name' | 'op' | 'value'>): string =>
  `${quotedName(name)}${SIGNS[op]}${quoted(value)}`

/** The text of a query; parsed, it is the same query. */
export function print(query: Query): string {
  switch (query.kind) {
    case 'and':
      return query.parts.map((part) => (part.kind === 'or' ? `(${print(part)})` : print(part))).join(' ')
    case 'or':
      return query.parts.map(print).join(' OR ')
    case 'not':
      return `NOT ${query.part.kind === 'and' || query.part.kind === 'or' ? `(${print(query.part)})` : print(query.part)}`
    case 'words':
      return quotedName(query.text)
    default:
      return printComparison(query)
  }
}
