import { useMemo } from 'react'
import type { MediaItem, MediaValue, StoredMedia } from '../lib/api/media.ts'
import { errorText } from '../lib/api/request.ts'
import { count, some } from '../lib/words.ts'
import { Choice } from '../ui/controls.tsx'
import { Failure } from '../ui/notice.tsx'
import { comparable, useChosenValues } from './compare-with.ts'
import { useLook } from './looks.ts'
import { ShownTable, TableContent, useTable } from './table-content.tsx'
import { type TableDifference, tableDifference } from './table-difference.ts'

type Uploaded = StoredMedia & { url: string }

const isTable = (value: MediaValue | undefined): value is Uploaded =>
  value?._type === 'table' && value.uploaded && value.url !== null

export interface TablePlace {
  /** The key of the table. */
  name: string
  unit: string
  job: string
  step: number
  /** The place among the values of the job at the step. */
  index: number
  /** All values of the step. */
  items: readonly MediaItem[]
  steps: readonly number[]
}

/** A table, or what changed since the same table of another step or job. */
export function ComparedTable({ content, of }: { content: Uploaded; of: TablePlace }) {
  const { name, unit, job, step, index, items, steps } = of
  const [look, onLook] = useLook(name)
  const { with: chosen = '' } = look
  const jobs = items.filter(({ values }) => isTable(values[index])).map(({ job_id }) => job_id)
  const options = comparable({ job, step }, jobs, steps, unit)
  const other = useChosenValues(name, job, chosen, items)
  // Another step may no longer have what was chosen.
  const [, label] = options.find(([id]) => id !== '' && id === chosen) ?? []
  const before = other?.values[index]
  const title = `${name} of ${job}`
  return (
    <div className="flex min-w-0 flex-col gap-1.5">
      {options.length > 1 && (
        <span className="flex flex-wrap items-center gap-2">
          <Choice
            label={`Compare ${title} with`}
            hideLabel
            value={label === undefined ? '' : chosen}
            options={options}
            onChange={(next) => onLook({ with: next || undefined })}
          />
        </span>
      )}
      {label === undefined ? (
        <TableContent content={content} name={title} look={look} onLook={onLook} />
      ) : isTable(before) ? (
        <Difference now={content} before={before} name={title} label={label} />
      ) : (
        <p className="py-4 text-muted">{other === undefined ? 'Reading…' : `No table at ${label}.`}</p>
      )}
    </div>
  )
}

function Difference(props: { now: Uploaded; before: Uploaded; name: string; label: string }) {
  const [now, before] = [useTable(props.now), useTable(props.before)]
  const found = useMemo(
    () => (now.data && before.data ? tableDifference(now.data, before.data) : undefined),
    [now.data, before.data],
  )
  const error = now.error ?? before.error
  if (now.isTooLarge || before.isTooLarge)
    return <p className="text-muted">One of these tables is too large to compare: download them.</p>
  if (error) return <Failure>{errorText(error)}</Failure>
  if (found === undefined) return <div className="pulse h-40 rounded-md bg-surface" />
  return (
    <>
      <p role="status" className="text-xs text-muted">
        Since {props.label}: {wordsOf(found)}
      </p>
      {found.table.rows.length > 0 && <ShownTable table={found.table} name={`Changes of ${props.name}`} />}
    </>
  )
}

function wordsOf({ changed, added, removed, equal, by, gone }: TableDifference): string {
  const parts = [
    changed > 0 && `${some(changed, 'row')} changed`,
    added > 0 && `${count(added)} added`,
    removed > 0 && `${count(removed)} removed`,
    `${count(equal)} equal`,
  ].filter((one) => one !== false)
  return `${parts.join(', ')}; rows are matched by ${by ?? 'their places'}${gone.length > 0 ? `; ${gone.join(', ')} no longer there` : ''}.`
}
