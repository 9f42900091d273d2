import type { Cell } from './table-text.ts'

/** Starts a download of a file. Characters that file systems reject are replaced by underscores. */
export function saveFile(name: string, blob: Blob): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name.replace(/[^\w.-]+/g, '_')
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

/** A CSV cell. Text that a spreadsheet would run as a formula gets a leading apostrophe; plain numbers do not. */
const cell = (value: Cell): string => {
  const text = String(value ?? '')
  const guarded = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text
  return /[",\r\n]/.test(guarded) ? `"${guarded.replaceAll('"', '""')}"` : guarded
}

const csvOf = (rows: readonly (readonly Cell[])[]): string =>
  `${rows.map((row) => row.map(cell).join(',')).join('\r\n')}\r\n`

export const saveCsvFile = (name: string, rows: readonly (readonly Cell[])[]): void =>
  saveFile(`${name}.csv`, new Blob([csvOf(rows)], { type: 'text/csv' }))
