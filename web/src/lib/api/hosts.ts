import { HostDocument, type HostRowFragment, MoreHostsDocument } from '../../__generated__/graphql.ts'
import { itemAt } from '../checked.ts'
import { nextOf, nodesOf, notFound, query, queryWithCursor, unknown } from './graphql.ts'
import { homePart } from './home-parts.ts'
import { get, remove } from './request.ts'
import type { SeriesSource } from './series.ts'
import type { Series } from './series-frames.ts'
import { type WireRow, wireRow } from './wire-row.ts'

/** An agent on a host. */
export type Host = WireRow<Omit<HostRowFragment, 'running'>> & {
  running: WireRow<HostRowFragment['running'][number]>[]
}

const hostOf = ({ running, ...host }: HostRowFragment): Host => ({
  ...wireRow(host),
  running: running.map((one) => wireRow(one)),
})

const at = (id: string): string => `/api/hosts/${encodeURIComponent(id)}`

/** The user's hosts; all hosts for an administrator. */
export async function fetchHosts(): Promise<Host[]> {
  const { viewer, hosts } = await homePart('hosts')
  if (viewer === null) throw unknown()
  const all: Host[] = []
  for (let page = hosts; page !== undefined; ) {
    all.push(...nodesOf(page).map(hostOf))
    const after = nextOf(page)
    page = after === null ? undefined : (await query(MoreHostsDocument, { after })).hosts
  }
  return all
}
export async function fetchHost(id: string): Promise<Host> {
  const { viewer, host } = await queryWithCursor(HostDocument, { id })
  if (viewer === null) throw unknown()
  if (host === null) throw notFound('agent')
  return hostOf(host)
}
export const revokeHost = (id: string): Promise<void> => remove(at(id))

type HostSeries = Omit<Series, 'non_finite'> & { batch_id: string }

/** Resources of what ran on the host, with series named by batch and job. By default of the last day. */
export function hostResourcesOf(id: string): SeriesSource {
  // The server has no filter by series, so one response serves all charts that request it at the same time.
  const recent = new Map<string, { at: number; answer: Promise<HostSeries[]> }>()
  return async ({ keys, points = 1_000, from, to }) => {
    const name = JSON.stringify([points, from, to])
    let one = recent.get(name)
    if (one === undefined || Date.now() - one.at > 5_000) {
      const answer = get<{ series: HostSeries[] }>(`${at(id)}/resources`, { points, from, to })
      one = { at: Date.now(), answer: answer.then(({ series }) => series) }
      recent.set(name, one)
      if (recent.size > 8) recent.delete(itemAt([...recent.keys()], 0))
    }
    const wanted = keys && new Set(keys)
    return (await one.answer)
      .filter((series) => wanted?.has(series.key) ?? true)
      .map((series) => ({
        ...series,
        job_id: series.job_id === null ? series.batch_id : `${series.batch_id} / ${series.job_id}`,
        non_finite: 0,
      }))
  }
}

/** The load of the last hours, from the newest batch that reported any: GPU, else CPU. */
export async function fetchLoad(id: string): Promise<{ what: string; values: number[] } | null> {
  const now = Math.floor(Date.now() / 1000)
  const { series } = await get<{ series: HostSeries[] }>(`${at(id)}/resources`, {
    points: 64,
    from: now - 6 * 3600,
    to: now,
  })
  for (const [key, what] of [
    ['gpu_util_pct', 'GPU'],
    ['cpu_util_pct', 'CPU'],
  ] as const) {
    const points = series
      .filter((one) => one.key === key)
      .flatMap((one) => one.steps.map((step, i) => [step, Number(one.values[i])] as const))
      .sort((a, b) => a[0] - b[0])
    if (points.length > 1) return { what, values: points.map(([, value]) => value) }
  }
  return null
}
