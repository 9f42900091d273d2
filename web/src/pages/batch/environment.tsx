import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { useId, useMemo, useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { type Batch, fetchBatches, fetchJobs, type Job } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import {
  type Difference,
  differences,
  environmentOf,
  factName,
  isThere,
  valueText,
} from '../../lib/batch-facts.ts'
import { flat } from '../../lib/flat.ts'
import { links } from '../../lib/links.ts'
import { batchQuery, useBatch } from '../../lib/queries.ts'
import { Button, inputLook } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { CodeChanges, UncommittedChanges } from './code-changes.tsx'
import { useJobs } from './use-jobs.ts'

const route = getRouteApi('/b/$batchId/environment')
/** Where and how the batch ran, the common parameters of its jobs, and the differences from another batch. */
export function BatchEnvironment() {
  const { batchId } = route.useParams()
  const { with: other } = route.useSearch()
  const batch = useBatch(batchId)
  const jobs = useJobs(useBatchContext().jobs)
  const common = useMemo(() => commonParams(jobs), [jobs])
  const [wanted, setWanted] = useState('')
  if (batch === undefined) return null
  const matches = ([name, value]: readonly [string, unknown]): boolean =>
    `${name} ${factName(name)} ${valueText(value)}`.toLowerCase().includes(wanted.trim().toLowerCase())
  const facts = Object.entries(environmentOf(batch)).filter(([, value]) => isThere(value))
  return (
    <div className="flex flex-col gap-5 p-4">
      <DifferencesFrom batch={batch} other={other} common={common} />
      <input
        type="search"
        aria-label="Find in the environment"
        placeholder="Find a version, variable, setting…"
        className={`${inputLook} max-w-96`}
        value={wanted}
        onChange={(event) => setWanted(event.target.value)}
      />
      <section aria-label="Environment" className="flex flex-col gap-2">
        <h2 className="font-medium">Start</h2>
        {facts.length === 0 ? (
          <p className="text-muted">The script did not report its environment.</p>
        ) : (
          <Facts facts={facts.filter(matches)} />
        )}
      </section>
      <UncommittedChanges batch={batch} />
      <Fields
        title="Configuration"
        fields={batch.config}
        fits={matches}
        none="The script did not set a configuration."
      />
      <Fields
        title="Summary"
        fields={batch.summary}
        fits={matches}
        none="The script did not set a summary."
      />
      <section aria-label="Params" className="flex flex-col gap-2">
        <h2 className="font-medium">Parameters shared by all jobs</h2>
        {Object.keys(common).length === 0 ? (
          <p className="text-muted">
            {jobs.length === 0 ? 'No job has started yet.' : 'There are none: see the columns of its jobs.'}
          </p>
        ) : (
          <Facts facts={Object.entries(common).filter(matches)} labelOf={String} />
        )}
      </section>
    </div>
  )
}

/** Key-value data of the run, one row per key; nested groups are under `group/key`. */
function Fields(props: {
  title: string
  fields: Record<string, unknown> | null | undefined
  /** Whether a row matches the search. */
  fits: (fact: readonly [string, unknown]) => boolean
  none: string
}) {
  const facts = Object.entries(flat(props.fields ?? {})).sort(([a], [b]) => a.localeCompare(b))
  return (
    <section aria-label={props.title} className="flex flex-col gap-2">
      <h2 className="font-medium">{props.title}</h2>
      {facts.length === 0 ? (
        <p className="text-muted">{props.none}</p>
      ) : (
        <Facts facts={facts.filter(props.fits)} labelOf={String} />
      )}
    </section>
  )
}

function Facts(props: {
  facts: readonly (readonly [string, unknown])[]
  /** The label of a row. */
  labelOf?: (name: string) => string
}) {
  const { facts, labelOf = factName } = props
  if (facts.length === 0) return <p className="text-muted">Nothing here matches.</p>
  return (
    <dl className="grid max-w-5xl sm:grid-cols-[12rem_minmax(0,1fr)]">
      {facts.map(([name, value]) => {
        const text = valueText(value)
        return (
          <div key={name} className="contents">
            <dt className="pt-2 pr-4 text-muted sm:border-t sm:border-line [overflow-wrap:anywhere] sm:pb-2">
              {labelOf(name)}
            </dt>
            <dd className="flex items-start gap-2 pb-2 sm:border-t sm:border-line sm:pt-2">
              <pre className="min-w-0 flex-1 font-mono text-xs break-words whitespace-pre-wrap">{text}</pre>
              {text.length > 12 && (
                <span className="-my-1">
                  <Copy text={text} />
                </span>
              )}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}

/** Params with the same value in all jobs. */
function commonParams(jobs: readonly Job[]): Record<string, unknown> {
  const [first] = jobs
  if (first === undefined) return {}
  const all = { model: first.model, dataset: first.dataset, ...first.params }
  const same = Object.entries(all).filter(([name, value]) =>
    jobs.every((job) => {
      const its = { model: job.model, dataset: job.dataset, ...job.params } as Record<string, unknown>
      return JSON.stringify(its[name]) === JSON.stringify(value)
    }),
  )
  return Object.fromEntries(same.filter(([, value]) => isThere(value)))
}

/** The differences from another batch, by default from the one that it reruns. */
function DifferencesFrom(props: {
  batch: Batch
  other: string | undefined
  common: Record<string, unknown>
}) {
  const { batch } = props
  const navigate = useNavigate()
  const id = useId()
  const other = props.other ?? batch.rerun_of ?? undefined
  const near = useQuery({
    queryKey: ['batches near', batch.project],
    queryFn: async () =>
      (await fetchBatches({ project: [batch.project] }, { limit: 50 })).items.map((one) => one.id),
  })
  const read = useQuery({ ...batchQuery(other ?? ''), enabled: other !== undefined })
  const itsJobs = useQuery({
    queryKey: ['params of', other],
    enabled: other !== undefined,
    queryFn: async () => commonParams(await fetchJobs(other ?? '')),
  })
  const choose = (next: string): void =>
    void navigate({ ...links.environment(batch.id, next || undefined), replace: true })
  return (
    <section aria-label="Differences" className="flex flex-col gap-2">
      <form
        className="flex flex-wrap items-center gap-2"
        onSubmit={(event) => {
          event.preventDefault()
          choose(String(new FormData(event.currentTarget).get('with')).trim())
        }}
      >
        <label htmlFor={id} className="font-medium">
          Compare with
        </label>
        <input
          key={other ?? ''}
          id={id}
          name="with"
          list={`${id} near`}
          placeholder="the id of another batch"
          defaultValue={other ?? ''}
          className={`${inputLook} max-w-96`}
          onChange={(event) => near.data?.includes(event.target.value) && choose(event.target.value)}
        />
        <datalist id={`${id} near`}>
          {near.data
            ?.filter((one) => one !== batch.id)
            .map((one) => (
              <option key={one} value={one} />
            ))}
        </datalist>
        <Button type="submit">Compare</Button>
        {other && (
          <Link {...links.batch(other)} className="text-accent underline">
            Open it
          </Link>
        )}
      </form>
      {other === undefined ? (
        <p className="text-muted">Choose a batch to see only what differs.</p>
      ) : read.error ? (
        <Failure>{errorText(read.error)}</Failure>
      ) : read.data === undefined || itsJobs.data === undefined ? (
        <Waiting rows={2} />
      ) : (
        <>
          <DifferenceTable
            here={batch.id}
            there={other}
            rows={[
              ...differences(environmentOf(batch), environmentOf(read.data)).map((row) => ({
                ...row,
                name: factName(row.name),
              })),
              ...named('configuration', differences(flat(batch.config ?? {}), flat(read.data.config ?? {}))),
              ...named('parameter', differences(props.common, itsJobs.data)),
            ]}
          />
          <CodeChanges before={read.data} after={batch} />
        </>
      )}
    </section>
  )
}

const named = (what: string, rows: readonly Difference[]): Difference[] =>
  rows.map((row) => ({ ...row, name: `${what} ${row.name}` }))

function DifferenceTable(props: { here: string; there: string; rows: readonly Difference[] }) {
  if (props.rows.length === 0) return <p>No differences in what both batches reported.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <div role="region" aria-label="What differs" tabIndex={0} className="fade-end max-w-5xl overflow-x-auto">
      <table className="w-full border-y border-line text-left [&_td]:px-2 [&_td]:py-1.5 [&_td]:align-top [&_th]:px-2 [&_th]:py-1.5 [&_tr]:border-t [&_tr]:border-line">
        <thead className="bg-surface text-xs text-muted">
          <tr>
            <th scope="col" className="w-48 font-normal">
              <span className="sr-only">Fact</span>
            </th>
            <th scope="col" className="font-normal">
              {props.here}
            </th>
            <th scope="col" className="font-normal">
              {props.there}
            </th>
          </tr>
        </thead>
        <tbody>
          {props.rows.map(({ name, here, there }) => (
            <tr key={name}>
              <th scope="row" className="font-normal text-muted">
                {name}
              </th>
              <td className="font-mono text-xs break-all">{valueText(here)}</td>
              <td className="font-mono text-xs break-all">{valueText(there)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
