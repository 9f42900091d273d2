import { itemAt } from '../checked.ts'
import { awaitWorkers, noteWrites } from '../db/cluster.ts'
import { type Fragment, isDistributed, type Tx } from '../db/sql.ts'
import { fragment } from '../db/sql-fragment.ts'
import { type LoadedBatch, lockBatches } from '../domain/batches/index.ts'
import { type JobState, jobOf, jobsForIngest, type StoredJobRow } from '../domain/jobs/index.ts'
import {
  normalProjectName,
  ownedProjects,
  type ProjectAccess,
  projectOf,
  projectsForIngest,
  type StoredProjectRow,
} from '../domain/projects/index.ts'
import { lockBindings, type TokenBinding, validTokens } from '../domain/tokens/index.ts'
import type { IngestCache } from './cache.ts'
import {
  blocksFor,
  type IdSupply,
  idBlocks,
  identityKey,
  identityOf,
  type StoredEvent,
  storedEvents,
  storedEventsOf,
} from './claim.ts'
import type { Item } from './outcome.ts'
import type { TemplateCache } from './templates.ts'

/** What the group's transaction found in the database, locked. Grows by what the group creates. */
export interface GroupState {
  /** The tokens that still hold: one may have been revoked since its request came in. */
  tokens: Set<string>
  /** `identityKey` → db_id of the events that are stored already. */
  stored: Map<string, number>
  projects: Map<string, ProjectAccess>
  projectsByKey: Map<number, ProjectAccess>
  /** By what their names look like (`projectNameKey`), where events name a project that does not exist. */
  projectsByName: Map<string, ProjectAccess>
  /** How many projects the senders of such events own. */
  owned: Map<string, number>
  batches: Map<string, LoadedBatch>
  /** batch_id → job_id → job; a batch without known jobs may be missing. */
  jobs: Map<string, Map<string, JobState>>
  /** What tokens of reruns may report, by token; those of senders that are known to be bound are missing. */
  bindings: Map<string, TokenBinding>
  /** At least one new db_id for each event of the group, ascending. */
  ids: Pick<IdSupply, 'next'>
  templates: TemplateCache
  /** The version that rows written by this transaction will have. */
  version: string
  /** Projects as they were read, with the roles of these users; empty where nothing was read. */
  read: { projects: { access: ProjectAccess; version: string }[]; senders: readonly string[] }
}

/** Batches of a group whose telemetry is in the archive: nothing was written, and they have to be brought back first. */
export class ArchivedBatches extends Error {
  /** batch_id → key */
  readonly batches: ReadonlyMap<string, number>
  constructor(batches: ReadonlyMap<string, number>) {
    super('batches are in the archive')
    this.batches = batches
  }
}

/** Blocks of ids that are reserved at the same time, for later groups. */
const SPARE_BLOCKS = 32

/** One row of JSON lists: one statement in place of six. */
interface Found {
  stored: StoredEvent[]
  tokens: { id: string }[]
  projects: StoredProjectRow[]
  jobs: StoredJobRow[]
  ids: { first: number }[]
  version: string
}

interface Pair {
  batchId: string
  jobId: string
}

/**
 * Everything that the events name, in one round trip. The locks come first, so that what follows sees the work of
 * their previous holders. Jobs in this server's cache are not read, unless another server wrote to their batch.
 * @throws ArchivedBatches
 */
export async function loadState(tx: Tx, items: readonly Item[], cache: IngestCache): Promise<GroupState> {
  const batchIds = [...new Set(items.map((i) => i.checked.event.batch_id))]
  const cached = new Map(batchIds.map((id) => [id, cache.take(id)]))
  const named = namedJobs(items)
  const unknown = named.filter(({ batchId, jobId }) => !cached.get(batchId)?.byId.has(jobId))
  const slugs = [
    ...new Set(
      items.map((i) => i.checked.event.source.project).flatMap((slug) => [slug, normalProjectName(slug)]),
    ),
  ]
  const senders = [...new Set(items.map((i) => i.sender.id))]
  const tokenIds = [...new Set(items.map((i) => i.sender.tokenId))]
  const identities = items.map(({ checked }) => identityOf(checked))
  const apart = isDistributed(tx)
  const json = (rows: Fragment): Fragment => tx`(select coalesce(json_agg(r), '[]') from (${rows}) r)`
  const [locked, [row]] = await Promise.all([
    lockBatches(tx, batchIds),
    tx<Found[]>`/* ingest.load */
      select
        ${apart ? tx`'[]'::json` : json(storedEvents(tx, identities))} stored,
        ${json(fragment(tx, validTokens(tokenIds)))} tokens,
        ${json(projectsForIngest(tx, slugs, batchIds, senders))} projects,
        ${unknown.length === 0 ? tx`'[]'::json` : json(jobsOf(tx, unknown))} jobs,
        ${json(idBlocks(tx, blocksFor(items.length) + SPARE_BLOCKS))} ids,
        pg_current_xact_id()::xid::text as version`,
  ])
  const found = row as Found
  const archived = locked.filter(({ cold, purged }) => cold && !purged)
  if (archived.length > 0)
    throw new ArchivedBatches(new Map(archived.map(({ state }) => [state.id, state.key])))
  if (apart) {
    const keys = locked.map(({ state }) => state.key)
    await awaitWorkers(tx, keys)
    await noteWrites(tx, keys)
    found.stored = await storedEventsOf(
      tx,
      identities,
      new Map(locked.map(({ state }) => [state.id, state.key])),
    )
  }
  const unbound = items.filter(({ sender }) => sender.commandId !== null && sender.batchId === null)
  const bindings =
    unbound.length === 0
      ? []
      : await lockBindings(tx, [...new Set(unbound.map(({ sender }) => sender.tokenId))])
  const jobs = new Map<string, Map<string, JobState>>()
  const outdated = new Set<string>()
  for (const batch of locked) {
    const known = cached.get(batch.state.id)
    if (known === undefined) continue
    if (known.batch.version === batch.version) jobs.set(batch.state.id, known.byId)
    else outdated.add(batch.state.id)
  }
  const again = named.filter((pair) => outdated.has(pair.batchId) && !unknown.includes(pair))
  const rows = again.length === 0 ? found.jobs : [...found.jobs, ...(await jobsOf(tx, again))]
  for (const job of (rows as StoredJobRow[]).map(jobOf)) put(jobs, job.batchId, job)

  const projects = found.projects.map(projectOf)
  const bySlug = new Map(projects.map((p) => [p.slug, p]))
  const toCreate = items.filter(({ checked }) => !bySlug.has(checked.event.source.project))
  // An existing project keeps its name, a new one gets the normal form.
  for (const { checked } of toCreate) {
    checked.event.source.project = normalProjectName(checked.event.source.project)
  }
  const owned =
    toCreate.length === 0
      ? new Map<string, number>()
      : await ownedProjects(tx, [...new Set(toCreate.map(({ sender }) => sender.id))])
  cache.ids.clear()
  cache.ids.add(found.ids.map((block) => block.first))
  return {
    tokens: new Set(found.tokens.map((token) => token.id)),
    stored: new Map(
      found.stored.map((e) => [identityKey({ batchId: e.batch_id, eventId: e.event_id }), e.db_id]),
    ),
    projects: bySlug,
    read: {
      projects: found.projects.map(({ version }, i) => ({ access: itemAt(projects, i), version })),
      senders,
    },
    projectsByKey: new Map(projects.map((p) => [p.key, p])),
    projectsByName: new Map(
      found.projects.flatMap(({ name_key }, i) =>
        name_key === null ? [] : [[name_key, itemAt(projects, i)]],
      ),
    ),
    owned,
    batches: new Map(locked.map((b) => [b.state.id, b])),
    jobs,
    bindings: new Map(bindings.map((binding) => [binding.tokenId, binding])),
    ids: cache.ids,
    templates: cache.templates,
    version: found.version,
  }
}

export function put(jobs: GroupState['jobs'], batchId: string, job: JobState): void {
  let ofBatch = jobs.get(batchId)
  if (ofBatch === undefined) {
    ofBatch = new Map()
    jobs.set(batchId, ofBatch)
  }
  ofBatch.set(job.id, job)
}

const jobsOf = (tx: Tx, pairs: Pair[]): Fragment =>
  jobsForIngest(
    tx,
    pairs.map((p) => p.batchId),
    pairs.map((p) => p.jobId),
  )

/** Each (batch, job) that the events name, once. */
function namedJobs(items: readonly Item[]): Pair[] {
  const seen = new Map<string, Set<string>>()
  const pairs: Pair[] = []
  for (const { checked } of items) {
    const { batch_id: batchId, job_id: jobId } = checked.event
    if (typeof jobId !== 'string') continue
    let ofBatch = seen.get(batchId)
    if (ofBatch === undefined) {
      ofBatch = new Set()
      seen.set(batchId, ofBatch)
    }
    if (ofBatch.has(jobId)) continue
    ofBatch.add(jobId)
    pairs.push({ batchId, jobId })
  }
  return pairs
}
