/**
 * CSV as in RFC 4180 (CRLF, doubled quotes), and safe to open in a spreadsheet: text that a spreadsheet would run as a
 * formula gets a leading apostrophe, plain numbers do not (contract §4).
 */
export function csvRow(cells: readonly unknown[]): string {
  return `${cells.map(csvCell).join()}\r\n`
}

/** null is an empty cell, a number is written in full, and objects and arrays are JSON. */
export function csvCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  if (typeof value === 'boolean') return String(value)
  const text = typeof value === 'string' ? guard(value) : JSON.stringify(value)
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$|^-Infinity$/i
/** Spreadsheets treat full-width forms like the plain characters. */
const FORMULA = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/
const guard = (text: string): string => (FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text)
