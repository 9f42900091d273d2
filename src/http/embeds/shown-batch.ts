import { type BatchView, readBatches } from '../../domain/batches/index.ts'
import { ANONYMOUS } from '../../domain/caller.ts'
import { escapeHtml } from '../../domain/escape-html.ts'
import type { JobView } from '../../domain/jobs/index.ts'
import { listJobsOfBatch } from '../../domain/lists/index.ts'
import {
  type BatchChart,
  chartOfBatch,
  MAX_JOBS_DRAWN,
  numberText,
  svgOf,
  type Theme,
} from '../../domain/pictures/index.ts'
import { presentBatches, presentJobs } from '../../domain/present.ts'
import {
  anonymizeBatch,
  anonymizeJob,
  type OpenShare,
  openShare,
  sharedView,
} from '../../domain/shares/index.ts'
import { Problem } from '../../problem.ts'
import { clockOf, type Services } from '../../services.ts'

/** What an embed shows of a batch: the same as its link. */
export interface ShownBatch {
  batchKey: number
  batch: BatchView
  /** The newest of its jobs. */
  jobs: JobView[]
  /** Whether it has more. */
  more: boolean
  /** The name of a series as readers of the link see it. */
  nameOf: (name: string) => string
}

/** Jobs in a table. */
const MAX_ROWS = 50

/**
 * The batch of a link that other sites may show.
 * @throws Problem share_not_found, embed_not_allowed
 */
export async function embeddedBatch(services: Services, token: string): Promise<ShownBatch> {
  const share = await openShare(services.sql, token, services.now())
  if (share === undefined) throw new Problem('share_not_found')
  if (!share.embed) throw new Problem('embed_not_allowed')
  return shownBatch(services, share)
}

/** @throws Problem share_not_found */
export async function shownBatch(services: Services, share: OpenShare): Promise<ShownBatch> {
  const { sql } = services
  const clock = clockOf(services)
  const [batchRows, jobRows] = await Promise.all([
    readBatches(sql, ANONYMOUS, [share.batchKey]),
    listJobsOfBatch(sql, { key: share.batchKey }, { limit: MAX_ROWS + 1, after: undefined }),
  ])
  const [[found], jobs] = await Promise.all([
    presentBatches(sql, ANONYMOUS, batchRows, clock),
    presentJobs(sql, ANONYMOUS, jobRows.slice(0, MAX_ROWS), clock),
  ])
  if (found === undefined) throw new Problem('share_not_found')
  const open = sharedView(found)
  const shown = { batchKey: share.batchKey, more: jobRows.length > MAX_ROWS }
  if (!share.anonymous) return { ...shown, batch: open, jobs, nameOf: (name) => name }
  const { batch, text, name } = anonymizeBatch(open)
  return { ...shown, batch, jobs: jobs.map((job) => anonymizeJob(job, text)), nameOf: name }
}

export const titleOf = ({ batch }: ShownBatch): string => batch.name ?? batch.id

export interface Look {
  key?: string | undefined
  theme: Theme
  width: number
  height: number
}

export function chartOf(services: Services, shown: ShownBatch, look: Look): Promise<BatchChart> {
  const drawn = shown.jobs.slice(0, MAX_JOBS_DRAWN)
  return chartOfBatch(services.sql, {
    ...look,
    batchKey: shown.batchKey,
    name: titleOf(shown),
    jobs: drawn.map(({ id }) => id),
    more: shown.more || shown.jobs.length > drawn.length,
    unit: drawn[0]?.step_unit ?? 'epoch',
    nameOf: shown.nameOf,
  })
}

/** The chart as a part of a page. */
export async function chartHtml(
  services: Services,
  shown: ShownBatch,
  look: Look,
): Promise<{ html: string; points: number }> {
  const { scene, title, points } = await chartOf(services, shown, look)
  return { html: svgOf(scene, `${title} of ${titleOf(shown)}`), points }
}

/** The newest jobs with the last values of their series. */
export function tableHtml({ jobs, more: isLonger }: ShownBatch, key: string | undefined): string {
  const names = jobs.flatMap(({ latest }) => Object.keys(latest)).filter((name) => name !== 'epoch')
  const keys = key === undefined ? [...new Set(names)].slice(0, MAX_COLUMNS) : [key]
  const head = ['job', 'status', 'epochs', ...keys].map((name) => `<th scope="col">${escapeHtml(name)}</th>`)
  const rows = jobs.map(({ id, status, epochs, latest }) => {
    const cells = [id, status, String(epochs), ...keys.map((name) => valueText(latest[name]))]
    return `<tr>${cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')}</tr>`
  })
  const more = isLonger ? `<p><small>The newest ${jobs.length} jobs</small></p>` : ''
  return `<div><table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('')}</tbody></table></div>${more}`
}
const MAX_COLUMNS = 4

export const valueText = (value: unknown): string =>
  typeof value === 'number' ? numberText(value) : value === null || value === undefined ? '' : String(value)

/** Its state and how many of its jobs are done. */
export function stateText({ batch }: ShownBatch): string {
  const { n_total: total, n_done: done } = batch
  const jobs = total !== null && total > 1 ? `, ${done} of ${total} jobs` : ''
  return batch.status + jobs
}
