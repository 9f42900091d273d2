import { entryOf, keysOf } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import type { Db } from '../../db/sql.ts'
import { firstStepOf, stepsOf } from '../metrics/index.ts'
import type { Telemetry } from '../telemetry.ts'
import type { BatchStatus } from './batch.ts'
import type { Delivery, DeliveryView, JobDelivery, SenderDelivery } from './delivery-fields.ts'
import { deliveryStateOf, missingOf, withLateArrivals } from './delivery-state.ts'

/** How many jobs with gaps a delivery report lists. */
const MAX_JOBS_WITH_GAPS = 20
const MAX_SENDERS = 100
const JOBS_AT_ONCE = 500

/** The report for callers without an account and for shares: without hosts, as the batch is shown to them. */
export const withoutHosts = (delivery: DeliveryView): DeliveryView => ({
  ...delivery,
  senders: delivery.senders.map((sender) => ({ ...sender, host: null })),
})

interface DeliveryRow {
  key: number
  status: BatchStatus
  stored: number
  ended: (Delivery & { sender?: string }) | null
  senders: (Pick<SenderDelivery, 'sender' | 'host' | 'stored'> & {
    reported: (Delivery & { so_far?: true }) | null
  })[]
}
type Found = Pick<DeliveryView, 'missing_epochs' | 'gaps'>

/** The delivery report of a batch. */
export async function deliveryOf(db: Telemetry, batch: { key: number; id: string }): Promise<DeliveryView> {
  return entryOf(await deliveriesOf(db, [batch]), batch.key)
}

/** The same of several batches, in as many statements, by key. */
export async function deliveriesOf(
  db: Telemetry,
  batches: readonly { key: number; id: string }[],
): Promise<Map<number, DeliveryView>> {
  const rows = await db<DeliveryRow[]>`/* batches.delivery */
    select b.key, b.status, p.n_events stored, b.ending -> 'delivery' ended,
      (select coalesce(jsonb_agg(jsonb_build_object(
          'sender', s.sender, 'host', s.host, 'stored', s.n_events, 'reported', s.delivery) order by s.sender), '[]')
       from batch_senders s where s.batch_key = b.key) senders
    from batches b join batch_progress p on p.batch_key = b.key
    where b.key = any (${batches.map(({ key }) => key)}::bigint[])`
  const over = rows.filter(({ status }) => status !== 'running').map(({ key }) => key)
  const gaps = await gapsIn(db, over)
  const byKey = new Map(rows.map((row) => [row.key, row]))
  return new Map(
    batches.map((batch) => [
      batch.key,
      viewOf(batch.id, byKey.get(batch.key) ?? NOTHING, gaps.get(batch.key)),
    ]),
  )
}

function viewOf(id: string, row: Omit<DeliveryRow, 'key'>, found: Found | undefined): DeliveryView {
  const { status, stored, ended, senders: named } = row
  const unnamed: (typeof named)[number] = {
    sender: null,
    host: null,
    stored: Math.max(0, stored - named.reduce((total, one) => total + one.stored, 0)),
    reported: ended === null || ended.sender !== undefined ? null : countsOf([ended]),
  }
  const isSeparate = unnamed.stored > 0 || unnamed.reported !== null || named.length === 0
  const senders: SenderDelivery[] = [...named, ...(isSeparate ? [unnamed] : [])].map((one) => {
    const final = one.reported !== null && one.reported.so_far === undefined
    const evidence = { stored: one.stored, final, named: one.sender !== null }
    const reported = one.reported && withLateArrivals(evidence, countsOf([one.reported]))
    return { ...one, reported, final, missing: missingOf({ stored: one.stored, reported }) }
  })
  const over = status !== 'running'
  const { missing_epochs, gaps } = found ?? { missing_epochs: 0, gaps: [] }
  const { state, missing } = deliveryStateOf({
    over,
    senders: senders.map((one) => ({ ...one, named: one.sender !== null })),
    missingEpochs: missing_epochs,
  })
  const reports = senders.flatMap(({ reported }) => reported ?? [])
  return {
    batch_id: id,
    state,
    stored,
    reported: reports.length < senders.length ? null : countsOf(reports),
    missing,
    missing_epochs,
    gaps,
    senders: senders.toSorted((a, b) => concern(b) - concern(a)).slice(0, MAX_SENDERS),
  }
}

/** How many events the processes of these batches have counted at their end and the service does not have; by key. */
export async function eventsPendingOf(
  db: Db,
  batches: readonly { key: number; status: BatchStatus }[],
): Promise<Map<number, number>> {
  const keys = batches.flatMap(({ key, status }) => (status === 'running' ? [] : key))
  if (keys.length === 0) return new Map()
  const rows = await db<{ key: number; pending: number }[]>`/* batches.events_pending */
    select u.key, s.pending from unnest(${keys}::bigint[]) as u (key)
    cross join lateral (
      select sum(greatest(0, (q.delivery ->> 'produced')::float8 - (q.delivery ->> 'dropped')::float8
        - coalesce((q.delivery ->> 'rejected')::float8, 0) - q.n_events)) pending
      from batch_senders q where q.batch_key = u.key and q.delivery -> 'so_far' is null) s
    where s.pending is not null`
  return new Map(rows.map(({ key, pending }) => [key, pending]))
}

const NOTHING = { status: 'running' as const, stored: 0, ended: null, senders: [] }

/** Sorts senders: first those with lost or pending events, then those without counts. */
const concern = ({ missing, reported, final }: SenderDelivery): number => {
  const lost = (missing ?? 0) + (reported?.dropped ?? 0) + (reported?.rejected ?? 0)
  return lost > 0 || final ? lost : 0.5
}

function countsOf(reports: readonly Partial<Delivery>[]): Delivery {
  const total: Delivery = { produced: 0, accepted: 0, duplicate: 0, spilled: 0, dropped: 0, rejected: 0 }
  for (const report of reports) for (const name of keysOf(total)) total[name] += report[name] ?? 0
  return total
}

/** Only for jobs with a steady pace: if steps are uneven anyway, a longer one does not indicate a loss. */
async function gapsIn(db: Telemetry, batchKeys: readonly number[]): Promise<Map<number, Found>> {
  const found = new Map<number, Found>(batchKeys.map((key) => [key, { missing_epochs: 0, gaps: [] }]))
  let places: DeliveryPlace[] = batchKeys.map((batchKey) => ({ batchKey, after: undefined }))
  while (places.length > 0) {
    const pages = await deliveryOfJobs(db, places, JOBS_AT_ONCE)
    places = places.flatMap(({ batchKey }, i) => {
      const jobs = pages[i] ?? []
      const of = entryOf(found, batchKey)
      for (const job of jobs.filter(({ missing, steady }) => missing > 0 && steady)) {
        of.missing_epochs += job.missing
        if (of.gaps.length < MAX_JOBS_WITH_GAPS) of.gaps.push({ job_id: job.job_id, ranges: job.gaps })
      }
      return jobs.length < JOBS_AT_ONCE ? [] : [{ batchKey, after: jobs.at(-1)?.key }]
    })
  }
  return found
}

const MAX_GAPS = 50
/**
 * A pace is steady if this share of the steps has the usual length and no two longer ones follow each other, as they do
 * in a script that logs less often from some point on.
 */
const STEADY_SHARE = 0.75

/** A batch, and the key of the job after which its jobs are read. */
export interface DeliveryPlace {
  batchKey: number
  after: number | undefined
}

/** The delivery reports of the jobs of each of these batches, in the order of creation: `limit` of each. */
export async function deliveryOfJobs(
  db: Telemetry,
  places: readonly DeliveryPlace[],
  limit: number,
): Promise<JobDelivery[][]> {
  await db.restore({ batches: places.map(({ batchKey }) => batchKey) }, 'kept')
  const stored = await db<
    (Omit<JobDelivery, 'first_epoch' | 'said_epochs' | 'every' | 'missing' | 'steady' | 'gaps'> & {
      batch_key: number
      said: unknown
    })[]
  >`/* batches.delivery_of_jobs */
    select u.batch_key, j.* from unnest(
      ${places.map(({ batchKey }) => batchKey)}::bigint[], ${places.map(({ after }) => after ?? 0)}::bigint[]) as u (batch_key, after)
    cross join lateral (
      select j.id job_id, j.key, j.status, p.epochs, coalesce(p.max_step, p.max_epoch) last_epoch,
        j.final_fields -> 'values' -> 'train_epochs' said
      from jobs j join job_progress p on p.job_key = j.key
      where j.batch_key = u.batch_key and j.key > u.after
      order by j.key limit ${limit}) j
    order by j.key`
  const firsts = await byBatch(
    db,
    stored.map(({ key, batch_key }) => ({ batchKey: batch_key, jobKey: key })),
    (own, batch) => db<{ job_key: number; epoch: number }[]>`/* batches.first_epochs */
      select u.job_key, e.step epoch
      from unnest(${own.map((one) => one.batchKey)}::bigint[], ${own.map((one) => one.jobKey)}::bigint[]) as u (batch_key, job_key)
      cross join lateral (${firstStepOf(db, batch)}) e`,
  )
  const firstOf = new Map(firsts.map((first) => [first.job_key, first.epoch]))
  const rows = stored.map((row) => ({ ...row, first_epoch: firstOf.get(row.key) ?? null }))
  const spanOf = (row: (typeof rows)[number]): number =>
    row.first_epoch === null || row.last_epoch === null ? 0 : row.last_epoch - row.first_epoch + 1
  const uneven = rows.filter((row) => spanOf(row) > row.epochs)
  const gapsOf = await missingEpochs(
    db,
    uneven.map(({ key, batch_key }) => ({ batchKey: batch_key, jobKey: key })),
  )
  const found = new Map(places.map(({ batchKey }): [number, JobDelivery[]] => [batchKey, []]))
  for (const { said, batch_key, ...row } of rows) {
    const gaps = gapsOf.get(row.key)
    found.get(batch_key)?.push({
      ...row,
      said_epochs: typeof said === 'number' && Number.isSafeInteger(said) ? said : null,
      every: gaps?.every ?? (row.epochs > 1 ? 1 : null),
      missing: gaps?.missing ?? 0,
      steady: gaps?.steady ?? true,
      gaps: gaps?.gaps.slice(0, MAX_GAPS) ?? [],
    })
  }
  return places.map(({ batchKey }) => found.get(batchKey) ?? [])
}

async function missingEpochs(
  db: Db,
  jobs: readonly { batchKey: number; jobKey: number }[],
): Promise<Map<number, Gaps>> {
  const found = await byBatch(
    db,
    jobs,
    (own, batch) => db<Gaps[]>`/* batches.missing_epochs */
      with steps as (
        select job_key, epoch, epoch - lag(epoch) over of_job step, lead(epoch) over of_job - epoch next_step
        from (
          select u.job_key, e.step epoch
          from unnest(${own.map((one) => one.batchKey)}::bigint[], ${own.map((one) => one.jobKey)}::bigint[]) as u (batch_key, job_key)
          cross join lateral (${stepsOf(db, batch)}) e) e
        window of_job as (partition by job_key order by epoch)),
      usual as (
        select job_key, mode() within group (order by step) every from steps where step is not null group by job_key)
      select u.job_key, u.every,
        coalesce(sum(ceil(s.step::numeric / u.every) - 1) filter (where s.step > u.every), 0)::float8 missing,
        count(*) filter (where s.step = u.every) >= ${STEADY_SHARE}::float8 * count(*)
          and not coalesce(bool_or(s.step > u.every and s.next_step > u.every), false) steady,
        (coalesce(jsonb_agg(jsonb_build_array(s.epoch - s.step + u.every, greatest(s.epoch - u.every, s.epoch - s.step + u.every))
          order by s.epoch) filter (where s.step > u.every), '[]')) gaps
      from usual u join steps s on s.job_key = u.job_key and s.step is not null
      group by u.job_key, u.every`,
  )
  return new Map(found.map((one) => [one.job_key, one]))
}

interface Gaps {
  job_key: number
  every: number
  missing: number
  steady: boolean
  gaps: [number, number][]
}
