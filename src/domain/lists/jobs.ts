import type { Fragment, PendingQuery } from 'postgres'
import { type Db, withCustomPlan } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { partsOf, termsOf } from '../../query/index.ts'
import { type BatchAccess, visibleBatches, visibleProjectKeys } from '../access.ts'
import type { Caller } from '../caller.ts'
import { some } from '../conditions.ts'
import type { Exposure } from '../field.ts'
import { JOB_PARTS, type JobPart, type JobRow, jobColumns, jobJoins } from '../jobs/index.ts'
import { fieldOf, holds } from '../json-field.ts'
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
import { jobConditionOf, jobHasText, latestOf, valueOfJob } from './job-conditions.ts'
import { everything, type FilterOf, fieldsMeet, JOB_PARAMETERS } from './parameters.ts'
import { type Places, resolveNames, type Within } from './places.ts'

/** A filter of the jobs of all batches: with slugs of projects and exact ids of batches. */
export type JobFilter = FilterOf<typeof JOB_PARAMETERS>
export const EVERY_JOB: JobFilter = everything(JOB_PARAMETERS)

/** A filter of the jobs of some parents, whose projects and batches are not looked at. */
export interface JobSearch extends JobFilter {
  /** Texts of jobs are hidden from the caller, so they cannot be searched. */
  textless: boolean
}

export type JobOrder =
  | { by: 'started_at' | 'status'; descending: boolean }
  | { by: 'param' | 'final_metric' | 'latest'; key: string; descending: boolean }
  /** By a name as in queries. */
  | { by: 'field'; key: string; descending: boolean }

/** The parents of the jobs: a page for each parent, or one page of all jobs in these projects (null: all projects). */
export type JobParents =
  | { column: 'batch_key' | 'project_key'; keys: readonly number[] }
  | { together: readonly number[] | null; batches?: readonly number[] | undefined }

/** The place of a row in a page of keys. */
export interface FoundKey extends SortColumns {
  key: number
  parent: number
  started_at: string
}
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
  places?: Places,
): Promise<FoundJob[]> {
  const { by, keys } = await keysOfPage(db, parents, search, order, page, places)
  const query = db<FoundJob[]>`/* jobs.search */
    with page as materialized (${keys})
    select ${jobColumns(db, parts)}, page.parent
      ${by.byStart ? db`` : db`, page.sort_rank, page.sort_number, page.sort_text`}
    from page join jobs j on j.key = page.key ${jobJoins(db, parts)}
    order by ${pageOrder(db, by)}`
  return wideRows(planned(search, query), by.byStart ? UNSORTED : {})
}

/** The same page without its rows, which `jobRecords` reads through Prisma. */
export async function searchJobKeys(
  db: Db,
  parents: JobParents,
  search: JobSearch,
  order: JobOrder,
  page: Page,
  places: Places,
): Promise<FoundKey[]> {
  const { by, keys } = await keysOfPage(db, parents, search, order, page, places)
  return planned(
    search,
    db<FoundKey[]>`/* jobs.search_keys */
      with page as materialized (${keys})
      select page.* from page order by ${pageOrder(db, by)}`,
  )
}

async function keysOfPage(
  db: Db,
  parents: JobParents,
  search: JobSearch,
  order: JobOrder,
  page: Page,
  places: Places | undefined,
): Promise<{ by: SortBy; keys: Fragment }> {
  const named = places ?? (await placesOfJobs(db, null, parents, search, order))
  const by = sortBy(db, order, named, search.textless)
  const uses = usesProgress(search) || order.by === 'latest' || order.by === 'field'
  return { by, keys: keysetPages(db, planOf(db, parents, search, named, uses), by, page) }
}

/** How common a word is decides between the order of the list and the index of words. */
const planned = <Row extends object>(search: JobSearch, query: PendingQuery<Row[]>): PendingQuery<Row[]> =>
  hasWords(search) ? withCustomPlan(query) : query

const hasWords = ({ q, where }: JobSearch): boolean =>
  q.length > 0 || where.some((query) => termsOf(query).some(({ kind }) => kind === 'words'))

/** What the names of a filter and an order mean in these jobs. */
export const placesOfJobs = (
  db: Db,
  caller: Caller | null,
  parents: JobParents,
  { where }: Pick<JobSearch, 'where'>,
  order: JobOrder = NEWEST_FIRST,
): Promise<Places> =>
  resolveNames(db, caller, 'job', withinOf(parents), where, order.by === 'field' ? [order.key] : [])

function withinOf(parents: JobParents): Within {
  if ('column' in parents) return parents
  return parents.batches === undefined
    ? { column: 'project_key', keys: parents.together }
    : { column: 'batch_key', keys: parents.batches }
}

const UNSORTED: SortColumns = { sort_rank: 0, sort_number: 0, sort_text: '' }

/**
 * The jobs of batches that the caller may see, newest first. Texts are compared without case, ids of batches exactly.
 */
export async function listJobs(
  db: Db,
  caller: Caller,
  filter: JobFilter,
  page: Page,
  order: JobOrder = NEWEST_FIRST,
): Promise<{ rows: FoundJob[]; unknown: readonly string[] }> {
  const { project, batch } = filter
  const [together, batches] = await Promise.all([
    visibleProjectKeys(db, caller, project),
    batch.length === 0 ? undefined : visibleBatches(db, caller, batch),
  ])
  const scope = { together, batches: batches?.map(({ key }) => key) }
  const search = { ...filter, textless: false }
  const places = await placesOfJobs(db, caller, scope, search, order)
  const rows =
    together?.length === 0 ? [] : await searchJobs(db, scope, search, order, page, JOB_PARTS, places)
  return { rows, unknown: places.unknown }
}

/** One page of the jobs of a batch, newest first. */
export const listJobsOfBatch = (db: Db, batch: Pick<BatchAccess, 'key'>, page: Page): Promise<FoundJob[]> =>
  searchJobs(
    db,
    { together: null, batches: [batch.key] },
    { ...EVERY_JOB, textless: false },
    NEWEST_FIRST,
    page,
  )

/** How many jobs of each parent match. */
export async function countJobs(
  db: Db,
  parents: JobParents,
  search: JobSearch,
  places?: Places,
): Promise<Map<number, number>> {
  const named = places ?? (await placesOfJobs(db, null, parents, search))
  const rows = await db<{ parent: number; n: number }[]>`/* jobs.count */
    ${countsOf(db, planOf(db, parents, search, named, usesProgress(search)))}`
  return new Map(rows.map((row) => [row.parent, row.n]))
}

const usesProgress = ({ latest, where }: JobSearch): boolean => latest.length > 0 || where.length > 0

function planOf(
  db: Db,
  parents: JobParents,
  search: JobSearch,
  places: Places,
  withProgress: boolean,
): PagePlan {
  const where: Fragment[] = []
  const { column, scope } = scopeOf(parents)
  if (column === 'project_key') {
    where.push(db`not exists (select from batches d where d.key = t.batch_key and d.deleted_at is not null)`)
  } else if ('together' in parents && parents.together !== null) {
    where.push(db`t.project_key = any (${[...parents.together]}::integer[])`)
  }
  const isHidden = (exposure: Exposure): boolean => search.textless && exposure !== 'shown'
  where.push(...fieldsMeet(db, 'job', JOB_PARAMETERS, { ...search, batch: [] }, isHidden))
  if (search.q.length > 0) {
    where.push(
      some(
        db,
        search.q.map((term) => jobHasText(db, term, search.textless)),
      ),
    )
  }
  for (const one of search.params)
    where.push(holds(db, fieldOf(db, db`t.params`, one.key, search.textless), one))
  for (const one of search.final_metrics) {
    where.push(holds(db, fieldOf(db, db`t.metrics`, one.key, search.textless), one))
  }
  for (const one of search.latest) where.push(holds(db, { number: latestOf(db, one.key) }, one))
  for (const part of search.where.flatMap(partsOf))
    where.push(jobConditionOf(db, part, places, search.textless))
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

function sortBy(db: Db, order: JobOrder, places: Places, textless: boolean): SortBy {
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
    case 'field':
      return { ...valueOfJob(db, places.of(order.key), textless), descending }
  }
}
