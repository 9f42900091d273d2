import type { Fragment } from 'postgres'
import { entryOf } from '../../checked.ts'
import { type Db, withCustomPlan } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { type BatchAccess, visibleBatches, visibleProjectKeys } from '../access.ts'
import type { FieldCondition, JobStatus } from '../batches/index.ts'
import type { Caller } from '../caller.ts'
import { escapeLike, oneOf, oneOfAnyCase, some } from '../conditions.ts'
import { type Comparison, type Field, fieldOf, holds } from '../json-field.ts'
import {
  countsOf,
  keysetPages,
  NEWEST_FIRST,
  type Page,
  type PagePlan,
  pageOrder,
  type SortBy,
  type SortColumns,
} from '../keyset-pages.ts'
import { isStorable } from '../storable-text.ts'
import { JOB_PARTS, type JobPart, jobColumns, jobJoins } from './reads.ts'
import type { JobRow } from './view.ts'

/** Searches jobs by parameters and metrics (contract §6: `params`, `finalMetrics`, `latest`). */

/** A filter of jobs: OR within a list of words, AND between conditions; an empty list is no condition. */
export interface JobSearch {
  status: JobStatus[]
  model: string[]
  dataset: string[]
  tag: string[]
  /** Text in the id, model or dataset. */
  q: string[]
  params: Comparison[]
  finalMetrics: Comparison[]
  latest: Comparison[]
  /** Conditions in the syntax of the query field: `lr<0.01`, `optimizer:sgd`; all must hold. */
  where: FieldCondition[]
  /** Texts of jobs are hidden from the caller, so they cannot be searched. */
  textless: boolean
}

export type JobOrder =
  | { by: 'started_at' | 'status'; descending: boolean }
  | { by: 'param' | 'final_metric' | 'latest'; key: string; descending: boolean }

/** The parents of the jobs: a page for each parent, or one page of all jobs in these projects (null: all projects). */
export type JobParents =
  | { column: 'batch_key' | 'project_key'; keys: readonly number[] }
  | { together: readonly number[] | null; batches?: readonly number[] | undefined }

export type FoundJob = JobRow & SortColumns & { parent: number }

/**
 * A page of jobs for each parent, in one statement; rows of one parent are together, in order.
 * @param parts what is read of them; the columns of the others are missing from the rows
 */
export async function searchJobs(
  db: Db,
  parents: JobParents,
  search: JobSearch,
  order: JobOrder,
  page: Page,
  parts: readonly JobPart[] = JOB_PARTS,
): Promise<FoundJob[]> {
  const by = sortBy(db, order, search.textless)
  const uses = usesProgress(search) || order.by === 'latest'
  const query = db<FoundJob[]>`/* jobs.search */
    with page as materialized (${keysetPages(db, planOf(db, parents, search, uses), by, page)})
    select ${jobColumns(db, parts)}, page.parent
      ${by.byStart ? db`` : db`, page.sort_rank, page.sort_number, page.sort_text`}
    from page join jobs j on j.key = page.key ${jobJoins(db, parts)}
    order by ${pageOrder(db, by)}`
  // How common a word is decides between the order of the list and the index of words.
  return wideRows(search.q.length > 0 ? withCustomPlan(query) : query, by.byStart ? UNSORTED : {})
}

const UNSORTED: SortColumns = { sort_rank: 0, sort_number: 0, sort_text: '' }

/** A filter of the jobs of all batches: as `JobSearch`, with slugs of projects and exact ids of batches. */
export interface JobFilter extends Omit<JobSearch, 'textless'> {
  project: string[]
  batch: string[]
}

const EVERY_SEARCH: Omit<JobSearch, 'textless'> = {
  status: [],
  model: [],
  dataset: [],
  tag: [],
  q: [],
  params: [],
  finalMetrics: [],
  latest: [],
  where: [],
}
export const EVERY_JOB: JobFilter = { project: [], batch: [], ...EVERY_SEARCH }

/**
 * The jobs of batches that the caller may see, newest first. Texts are compared without case, ids of batches exactly.
 */
export async function listJobs(
  db: Db,
  caller: Caller,
  { project, batch, ...search }: JobFilter,
  page: Page,
): Promise<FoundJob[]> {
  const [together, batches] = await Promise.all([
    visibleProjectKeys(db, caller, project),
    batch.length === 0 ? undefined : visibleBatches(db, caller, batch),
  ])
  if (together?.length === 0) return []
  const scope = { together, batches: batches?.map(({ key }) => key) }
  return searchJobs(db, scope, { ...search, textless: false }, NEWEST_FIRST, page)
}

/** One page of the jobs of a batch, newest first. */
export const listJobsOfBatch = (db: Db, batch: Pick<BatchAccess, 'key'>, page: Page): Promise<FoundJob[]> =>
  searchJobs(
    db,
    { together: null, batches: [batch.key] },
    { ...EVERY_SEARCH, textless: false },
    NEWEST_FIRST,
    page,
  )

/** How many jobs of each parent match. */
export async function countJobs(
  db: Db,
  parents: JobParents,
  search: JobSearch,
): Promise<Map<number, number>> {
  const rows = await db<{ parent: number; n: number }[]>`/* jobs.count */
    ${countsOf(db, planOf(db, parents, search, usesProgress(search)))}`
  return new Map(rows.map((row) => [row.parent, row.n]))
}

export interface JobName {
  batchId: string
  id: string
}

/** The jobs that the caller may see, with their batches, in no order. */
export async function findJobs(
  db: Db,
  caller: Caller,
  names: readonly JobName[],
): Promise<{ job: JobRow; batch: BatchAccess }[]> {
  const wanted = names.filter((name) => isStorable(name.batchId) && isStorable(name.id))
  const batches = await visibleBatches(db, caller, [...new Set(wanted.map((name) => name.batchId))])
  if (batches.length === 0) return []
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const rows = await jobsNamed(
    db,
    wanted.flatMap(({ batchId, id }) => {
      const batch = byId.get(batchId)
      return batch === undefined ? [] : [{ batchKey: batch.key, id }]
    }),
  )
  return rows.map((job) => ({ job, batch: entryOf(byId, job.batch_id) }))
}

/** The jobs with these names that exist, in no order. The permissions were checked before. */
export async function jobsNamed(
  db: Db,
  names: readonly { batchKey: number; id: string }[],
): Promise<JobRow[]> {
  return wideRows(db<JobRow[]>`/* jobs.find */
    select ${jobColumns(db)}
    from unnest(${names.map((name) => name.batchKey)}::bigint[], ${names.map((name) => name.id)}::text[]) as w (batch_key, id)
    join jobs j on j.batch_key = w.batch_key and j.id = w.id ${jobJoins(db)}`)
}

const usesProgress = ({ latest, where }: JobSearch): boolean => latest.length > 0 || where.length > 0

function planOf(db: Db, parents: JobParents, search: JobSearch, withProgress: boolean): PagePlan {
  const where: Fragment[] = []
  // A filter must not reveal what is hidden.
  const shown = (condition: Fragment): Fragment => (search.textless ? db`false` : condition)
  const { column, scope } = scopeOf(parents)
  if (column === 'project_key') {
    where.push(db`not exists (select from batches d where d.key = t.batch_key and d.deleted_at is not null)`)
  } else if ('together' in parents && parents.together !== null) {
    where.push(db`t.project_key = any (${[...parents.together]}::integer[])`)
  }
  if (search.status.length > 0) where.push(oneOf(db, db`t.status`, search.status))
  if (search.model.length > 0) where.push(shown(oneOfAnyCase(db, db`t.model`, search.model)))
  if (search.dataset.length > 0) where.push(shown(oneOfAnyCase(db, db`t.dataset`, search.dataset)))
  if (search.tag.length > 0) {
    const wanted = db`filter_texts(t.tags) && filter_texts(${search.tag}::text[])`
    where.push(shown(db`t.tags <> '{}' and ${wanted}`))
  }
  if (search.q.length > 0) {
    where.push(
      some(
        db,
        search.q.map((term) => holdsText(db, term, search.textless)),
      ),
    )
  }
  for (const one of search.params)
    where.push(holds(db, fieldOf(db, db`t.params`, one.key, search.textless), one))
  for (const one of search.finalMetrics) {
    where.push(holds(db, fieldOf(db, db`t.metrics`, one.key, search.textless), one))
  }
  for (const one of search.latest) where.push(holds(db, { number: latestOf(db, one.key) }, one))
  for (const one of search.where) where.push(meets(db, one, search.textless))
  const joins = withProgress ? db`join job_progress tp on tp.job_key = t.key` : db``
  return { table: 'jobs', column, scope, joins, where }
}

function scopeOf(parents: JobParents): Pick<PagePlan, 'column' | 'scope'> {
  if ('column' in parents) return { column: parents.column, scope: { each: parents.keys } }
  const { together, batches } = parents
  // The permissions for named batches were checked, so none of them is deleted.
  if (batches !== undefined) return { column: 'batch_key', scope: { together: batches } }
  return { column: 'project_key', scope: { together } }
}

/**
 * The shortest text that the index of words (012_job_search) can search; shorter ones are soon found in the order of
 * the list.
 */
const INDEXED = 3
function holdsText(db: Db, term: string, textless: boolean): Fragment {
  if (textless || term.length < INDEXED) {
    const said = textless ? db`t.id` : db`concat_ws(chr(10), t.id, t.model, t.dataset)`
    return db`strpos(lower(${said}), lower(${term})) > 0`
  }
  return db`batch_search_text(t.id, t.model, t.dataset, null, null) like '%' || lower(${escapeLike(term)}) || '%'`
}

/** SQL over rows `t` of jobs and `tp` of job_progress. */
function meets(db: Db, condition: FieldCondition, textless: boolean): Fragment {
  const { of, key } = condition
  const one = (field: Field): Fragment => holds(db, field, condition)
  const isNamed = key === 'model' || key === 'dataset'
  const param = (): Fragment =>
    one(isNamed ? (textless ? {} : { text: db`t.${db(key)}` }) : fieldOf(db, db`t.params`, key, textless))
  const final = (): Fragment => one(fieldOf(db, db`t.metrics`, key, textless))
  switch (of) {
    case 'param':
      return param()
    case 'final':
      return final()
    case 'last':
      return one({ number: latestOf(db, key) })
    case 'min':
      return one({ number: db`tp.min_value[array_position(tp.series, ${key})]` })
    case 'max':
      return one({ number: db`tp.max_value[array_position(tp.series, ${key})]` })
    case 'config':
      return textless
        ? db`false`
        : db`exists (select from batches c where c.key = t.batch_key and ${one(fieldOf(db, db`c.config`, key, false))})`
    default:
      return some(db, [param(), final(), one({ number: latestOf(db, key) })])
  }
}

/** SQL: the last value of a series, over a row `tp` of job_progress. */
const latestOf = (db: Db, key: string): Fragment =>
  key === 'epoch'
    ? db`coalesce(tp.last_value[array_position(tp.series, ${key})], tp.max_step, tp.max_epoch)`
    : db`tp.last_value[array_position(tp.series, ${key})]`

function sortBy(db: Db, order: JobOrder, textless: boolean): SortBy {
  const { descending } = order
  switch (order.by) {
    case 'started_at':
      return { byStart: true, descending }
    case 'status':
      return { text: db`t.status`, descending }
    case 'param':
      return { ...fieldOf(db, db`t.params`, order.key, textless), descending }
    case 'final_metric':
      return { ...fieldOf(db, db`t.metrics`, order.key, textless), descending }
    case 'latest':
      return { number: latestOf(db, order.key), descending }
  }
}
