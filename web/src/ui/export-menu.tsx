import { ChevronDown, Download } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { saveCsvFile } from '../lib/save-file.ts'
import { type Cell, latexOf, markdownOf } from '../lib/table-text.ts'
import { some } from '../lib/words.ts'
import { copyText } from './copy.tsx'
import { OpenMenu } from './open-menu.tsx'
import { showToast } from './toasts.tsx'

const entry = 'block w-full cursor-pointer rounded px-2 py-1 text-left outline-none data-highlighted:bg-hover'

/** Exports a table as a CSV file, or as Markdown or LaTeX on the clipboard. Initially open. */
export function ExportMenu(props: {
  /** The file name without its extension. */
  name: string
  /** The header and rows, with unrounded values. */
  rows: () => readonly (readonly Cell[])[]
}) {
  const copy = (format: string, textOf: (rows: readonly (readonly Cell[])[]) => string): void => {
    const rows = props.rows()
    void copyText(textOf(rows), document.body).then((copied) =>
      copied
        ? showToast(`${some(rows.length - 1, 'row')} copied as ${format}.`)
        : showToast('The browser does not allow copying: export CSV instead.', { bad: true }),
    )
  }
  return (
    <OpenMenu
      label={
        <>
          <Download className="size-3.5 max-sm:hidden" aria-hidden="true" /> Export{' '}
          <ChevronDown className="size-3.5" aria-hidden="true" />
        </>
      }
      align="start"
    >
      <DropdownMenu.Item className={entry} onSelect={() => saveCsvFile(props.name, props.rows())}>
        CSV file
      </DropdownMenu.Item>
      <DropdownMenu.Item className={entry} onSelect={() => copy('Markdown', markdownOf)}>
        Copy as Markdown
      </DropdownMenu.Item>
      <DropdownMenu.Item className={entry} onSelect={() => copy('LaTeX', latexOf)}>
        Copy as LaTeX
      </DropdownMenu.Item>
    </OpenMenu>
  )
}
