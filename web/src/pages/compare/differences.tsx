import { useMemo } from 'react'
import type { Compared } from '../../charts/compared-jobs.ts'
import type { Batch } from '../../lib/api/batches.ts'
import { some } from '../../lib/words.ts'
import { ExportTable } from '../../ui/export-table.tsx'
import { Section } from '../../ui/section.tsx'
import { Table } from '../../ui/table.tsx'
import { CodeChanges } from '../batch/code-changes.tsx'
import { columnsOf, type FactsColumn, factsOf } from './facts.ts'

/** The maximum number of columns of a readable table. */
const MAX_BESIDE = 24

/** Parameters, configuration and environment, with one column per batch or per job. */
export function Differences(props: {
  batches: readonly Batch[]
  rows: readonly Compared[]
  /** Whether the user selected jobs, which are then the columns. */
  chosen: boolean
  /** Whether rows without differences are shown too. */
  same: boolean
  onSame: (same: boolean) => void
  strokeOf: (row: Compared) => string
}) {
  const { batches, rows, chosen, same, strokeOf } = props
  const columns = useMemo(() => columnsOf(batches, rows, chosen), [batches, rows, chosen])
  const beside = useMemo(() => columns.slice(0, MAX_BESIDE), [columns])
  const facts = useMemo(() => factsOf(beside), [beside])
  const shown = same ? facts : facts.filter((fact) => fact.differs)
  const colours = useMemo(() => coloursOf(beside, rows, strokeOf), [beside, rows, strokeOf])
  const [before, after, ...more] = batches
  const areJobs = columns[0]?.job !== undefined
  return (
    <Section id="differences" title="What differs">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-2 text-xs text-muted">
        <label className="flex items-center gap-1.5 text-ink">
          <input type="checkbox" checked={same} onChange={(event) => props.onSame(event.target.checked)} />
          Show equal fields too
        </label>
        <span>
          {facts.filter((fact) => fact.differs).length} of {some(facts.length, 'field')} differ between{' '}
          {columns.length > beside.length && 'the first '}
          {areJobs ? some(beside.length, 'job') : some(beside.length, 'batch', 'batches')}
          {areJobs && batches.length === 1 && '; environment and code are those of their batch'}.
        </span>
        {shown.length > 0 && (
          <ExportTable
            name="differences"
            rows={() => [
              ['field', ...beside.map((column) => column.title)],
              ...shown.map(({ name, texts }) => [name, ...texts]),
            ]}
          />
        )}
      </div>
      {shown.length === 0 ? (
        <p className="text-muted">
          {columns.length === 1 ? 'There is nothing to compare it with.' : 'Nothing that they reported.'}
        </p>
      ) : (
        <Table
          heads={['Field', ...beside.map((column) => column.title)]}
          colours={[undefined, ...colours]}
          label="What differs"
        >
          {shown.map(({ name, texts, differs }) => (
            <tr key={name} className={same && differs ? 'bg-accent-soft' : ''}>
              <td className="text-muted">
                {name}
                {same && differs && <span className="sr-only"> (differs)</span>}
              </td>
              {texts.map((text, i) => (
                <td key={beside[i]?.key} className="max-w-96" title={text}>
                  <span className="line-clamp-3 whitespace-normal [overflow-wrap:anywhere]">{text}</span>
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      {before && after && more.length === 0 && <CodeChanges before={before} after={after} />}
    </Section>
  )
}

/** The colours of columns that stand for a single run. */
const coloursOf = (
  columns: readonly FactsColumn[],
  rows: readonly Compared[],
  strokeOf: (row: Compared) => string,
): (string | undefined)[] =>
  columns.map(({ batch, jobs: [job, ...more] }) => {
    const row = rows.find((one) => one.job === job && one.batch.id === batch.id)
    return row === undefined || more.length > 0 ? undefined : strokeOf(row)
  })
