import type { Compared } from '../charts/compared-jobs.ts'
import type { Axis } from '../columns/axes.ts'
import { count, number, some } from '../lib/words.ts'
import { Table } from '../ui/table.tsx'
import type { ParameterImportance } from './use-importance.ts'

/** Fewer jobs are not enough to judge parameters. */
const MIN_JOBS = 20
/** A forest that explains less says little about parameters. */
const MIN_R2 = 0.1

/** Whether there are enough jobs, and the parameters explain the metric. */
export const isSure = ({ jobs, r2 }: ParameterImportance): boolean => jobs >= MIN_JOBS && r2 >= MIN_R2

/** The importance of parameters for the metric, and how reliable it is. */
export function ParameterImportances(props: {
  rows: readonly Compared[]
  metric: Axis
  /** Undefined until computed. */
  found: ParameterImportance | undefined
}) {
  const { rows, metric, found } = props
  if (found !== undefined && found.parameters.length === 0) return null
  return (
    <section
      aria-labelledby="importance"
      className="flex min-w-0 max-w-3xl flex-col gap-2"
      aria-busy={found === undefined}
    >
      <h2 id="importance" className="font-semibold">
        Which parameters matter for {metric.title}
      </h2>
      {found === undefined ? (
        <p role="status" className="text-muted">
          Computing the importance of parameters over {some(rows.length, 'job')}…
        </p>
      ) : (
        <>
          <p data-sure className={isSure(found) ? 'text-muted' : 'text-amber'}>
            {sureness(found)}
          </p>
          {found.jobs >= MIN_JOBS && <Importances found={found} />}
        </>
      )}
    </section>
  )
}

function sureness({ jobs, without, r2 }: ParameterImportance): string {
  const left =
    without > 0 ? ` ${some(without, 'job')} without a value ${without === 1 ? 'is' : 'are'} left out.` : ''
  const explained = `${Math.round(100 * Math.max(0, r2))}%`
  if (jobs < MIN_JOBS)
    return `Too few jobs to tell: ${jobs} have a result, at least ${MIN_JOBS} are needed.${left}`
  if (r2 < MIN_R2)
    return `The parameters explain ${explained} of the differences between ${count(jobs)} jobs: this order may be chance.${left}`
  return `The parameters explain ${explained} of the differences between ${count(jobs)} jobs. Parameters that change together share their importance.${left}`
}

function Importances({ found }: { found: ParameterImportance }) {
  const total = found.parameters.reduce((sum, one) => sum + Math.max(0, one.importance), 0)
  return (
    <Table label="Importance of parameters" heads={['Parameter', 'Importance', 'Rank correlation']}>
      {found.parameters.map(({ axis, importance, spread, correlation }) => {
        const share = total === 0 ? 0 : (100 * Math.max(0, importance)) / total
        const about = total === 0 ? 0 : (100 * spread) / total
        return (
          <tr key={axis.id} data-parameter={axis.title}>
            <td className="font-medium">{axis.title}</td>
            <td className="w-1/2">
              <span className="flex items-center gap-3">
                <span className="h-2 flex-1 rounded-full bg-hover" aria-hidden="true">
                  <span className="block h-2 rounded-full bg-accent" style={{ width: `${share}%` }} />
                </span>
                <span className="w-16 text-right tabular-nums">
                  {Math.round(share)}%{' '}
                  <span className="text-muted">± {about < 1 ? '<1' : Math.round(about)}</span>
                </span>
              </span>
            </td>
            <td className="tabular-nums">
              {correlation === null ? (
                <span className="text-muted">–</span>
              ) : (
                number(Math.round(correlation * 100) / 100)
              )}
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
