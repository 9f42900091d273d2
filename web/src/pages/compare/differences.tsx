import type { Compared } from '../../charts/compared-jobs.ts'
import type { Batch } from '../../lib/api/types.ts'
import { some } from '../../lib/words.ts'
import { Table } from '../../ui/table.tsx'
import { CodeChanges } from '../batch/code-changes.tsx'
import { factsOf } from './facts.ts'

/** Columns of a table that a person still reads. */
const MAX_BESIDE = 24

/** Parameters and environment, batch by batch: only what is not the same everywhere. */
export function Differences({ batches, rows }: { batches: readonly Batch[]; rows: readonly Compared[] }) {
  const beside = batches.slice(0, MAX_BESIDE)
  const [before, after, ...more] = batches
  const found = factsOf(
    beside,
    beside.map((batch) => rows.filter((row) => row.batch.id === batch.id).map((row) => row.job)),
  )
  return (
    <section aria-labelledby="differences" className="flex flex-col gap-2">
      <h2 id="differences" className="font-semibold">
        What differs
      </h2>
      {batches.length > beside.length && (
        <p className="text-xs text-muted">Between the first {some(beside.length, 'batch', 'batches')}.</p>
      )}
      {found.length === 0 ? (
        <p className="text-muted">
          {batches.length === 1 ? 'It is only one batch.' : 'Nothing that they reported.'}
        </p>
      ) : (
        <Table heads={['Field', ...beside.map((batch) => batch.id)]} label="What differs">
          {found.map(([name, values]) => (
            <tr key={name}>
              <td className="text-muted">{name}</td>
              {values.map((value, i) => (
                <td key={beside[i]?.id} className="max-w-80 truncate" title={value}>
                  {value}
                </td>
              ))}
            </tr>
          ))}
        </Table>
      )}
      {before && after && more.length === 0 && <CodeChanges before={before} after={after} />}
    </section>
  )
}
