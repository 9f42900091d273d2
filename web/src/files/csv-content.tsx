import { useMemo } from 'react'
import { errorText } from '../lib/api/request.ts'
import { bytesText } from '../lib/words.ts'
import { ShownTable } from '../media/table-content.tsx'
import { fromCsv } from '../media/table-rows.ts'
import { type Content, useStart } from '../media/use-content.ts'
import { Failure } from '../ui/notice.tsx'

const MAX_BYTES = 1024 * 1024

/** The rows of a CSV file, of a large one the first. */
export function CsvContent({ content, name }: { content: Content; name: string }) {
  const start = useStart(content, MAX_BYTES)
  const text = start.data?.text
  const isCut = content.size > MAX_BYTES
  const table = useMemo(
    () =>
      // The last line may be cut.
      text === undefined ? undefined : fromCsv(isCut ? text.slice(0, text.lastIndexOf('\n')) : text),
    [text, isCut],
  )
  if (start.error) return <Failure>{errorText(start.error)}</Failure>
  if (table === undefined) return <div className="h-40" />
  return (
    <>
      <ShownTable table={table} name={name} />
      {isCut && (
        <p className="text-xs text-muted">
          The rows of the first {bytesText(MAX_BYTES)} of {bytesText(content.size)}
        </p>
      )}
    </>
  )
}
