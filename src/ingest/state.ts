import { itemAt } from '../checked.ts'
import { lockOnWorkers } from '../db/cluster.ts'
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
import type { CachedBatch, IngestCache } from './cache.ts'
import {
  blocksFor,
  type EventIdentity,
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

/** What the group's transaction read and locked. Rows that the group creates are added. */
export interface GroupState {
  /** Tokens that are still valid: one may have been revoked since its request was accepted. */
  tokens: Set<string>
  /** `identityKey` → db_id of those events of the group that are stored already. */
  stored: Map<string, number>
  projects: Map<string, ProjectAccess>
  projectsByKey: Map<number, ProjectAccess>
  /** Existing projects with a name like that of a new one, by `projectNameKey`. */
  projectsByName: Map<string, ProjectAccess>
  /** How many projects each sender of a new project owns. */
  owned: Map<string, number>
  batches: Map<string, LoadedBatch>
  /** batch_id → job_id → job; a batch without jobs may be missing. */
  jobs: Map<string, Map<string, JobState>>
  /** Which batch the token of a rerun may report to, by token; missing for senders that are known to be bound. */
  bindings: Map<string, TokenBinding>
  /** At least one unused db_id for each event of the group, ascending. */
  ids: Pick<IdSupply, 'next'>
  templates: TemplateCache
  /** The version that rows written by this transaction will have. */
  version: string
  /** Projects as they were read, with the roles of these users; empty if nothing was read. */
  read: { projects: { access: ProjectAccess; version: string }[]; senders: readonly string[] }
}

/** The group has events of archived batches: nothing was written, and these batches must be restored first. */
export class ArchivedBatches extends Error {
  /** batch_id → key */
  readonly batches: ReadonlyMap<string, number>
  constructor(batches: ReadonlyMap<string, number>) {
    super('batches are in the archive')
    this.batches = batches
  }
}

/** Blocks of ids that are reserved in addition, for later groups. */
const SPARE_BLOCKS = 32

/** The row of one statement that reads six lists, as JSON. */
interface Loaded {
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

/** What the events of a group refer to, each once. */
interface References {
  batchIds: string[]
  jobs: Pair[]
  /** Names of projects, as sent and in the normal form of new ones. */
  slugs: string[]
  senders: string[]
  tokenIds: string[]
  identities: EventIdentity[]
}

function referencesOf(items: readonly Item[]): References {
  const each = <T>(of: (item: Item) => T | T[]): T[] => [...new Set(items.flatMap(of))]
  return {
    batchIds: each((i) => i.checked.event.batch_id),
    jobs: namedJobs(items),
    slugs: each(({ checked: { event } }) => [event.source.project, normalProjectName(event.source.project)]),
    senders: each((i) => i.sender.id),
    tokenIds: each((i) => i.sender.tokenId ?? []),
    identities: items.map(({ checked }) => identityOf(checked)),
  }
}

/**
 * Loads everything that the events refer to, in one round trip. It takes the locks first, so that it sees what their
 * previous holders wrote. Jobs in this server's cache are not read, unless another server wrote to their batch.
 * @throws ArchivedBatches
 */
export async function loadState(tx: Tx, items: readonly Item[], cache: IngestCache): Promise<GroupState> {
  const refs = referencesOf(items)
  const cached = new Map(refs.batchIds.map((id) => [id, cache.take(id)]))
  const unknown = refs.jobs.filter(({ batchId, jobId }) => !cached.get(batchId)?.byId.has(jobId))
  const [locked, loaded] = await Promise.all([
    lockBatches(tx, refs.batchIds),
    load(tx, refs, unknown, blocksFor(items.length) + SPARE_BLOCKS),
  ])
  const archived = locked.filter(({ cold, purged }) => cold && !purged)
  if (archived.length > 0)
    throw new ArchivedBatches(new Map(archived.map(({ state }) => [state.id, state.key])))
  if (isDistributed(tx)) loaded.stored = await loadStoredOnWorkers(tx, refs.identities, locked)
  const bindings = await lockUnboundTokens(tx, items)
  const jobs = await mergeJobs(tx, { refs, unknown, cached, locked, loaded })
  const projects = loaded.projects.map(projectOf)
  const bySlug = new Map(projects.map((p) => [p.slug, p]))
  const owned = await normaliseNewProjects(tx, items, bySlug)
  cache.ids.clear()
  cache.ids.add(loaded.ids.map((block) => block.first))
  return {
    tokens: new Set(loaded.tokens.map((token) => token.id)),
    stored: new Map(
      loaded.stored.map((e) => [identityKey({ batchId: e.batch_id, eventId: e.event_id }), e.db_id]),
    ),
    projects: bySlug,
    read: {
      projects: loaded.projects.map(({ version }, i) => ({ access: itemAt(projects, i), version })),
      senders: refs.senders,
    },
    projectsByKey: new Map(projects.map((p) => [p.key, p])),
    projectsByName: new Map(
      loaded.projects.flatMap(({ name_key }, i) =>
        name_key === null ? [] : [[name_key, itemAt(projects, i)]],
      ),
    ),
    owned,
    batches: new Map(locked.map((b) => [b.state.id, b])),
    jobs,
    bindings: new Map(bindings.map((binding) => [binding.tokenId, binding])),
    ids: cache.ids,
    templates: cache.templates,
    version: loaded.version,
  }
}

async function load(tx: Tx, refs: References, jobs: Pair[], blocks: number): Promise<Loaded> {
  const none = (): Fragment => tx`'[]'::json`
  const json = (rows: Fragment): Fragment => tx`(select coalesce(json_agg(r), '[]') from (${rows}) r)`
  const [row] = await tx<Loaded[]>`/* ingest.load */
    select
      ${isDistributed(tx) ? none() : json(storedEvents(tx, refs.identities))} stored,
      ${json(fragment(tx, validTokens(refs.tokenIds)))} tokens,
      ${json(projectsForIngest(tx, refs.slugs, refs.batchIds, refs.senders))} projects,
      ${jobs.length === 0 ? none() : json(jobsOf(tx, jobs))} jobs,
      ${json(idBlocks(tx, blocks))} ids,
      pg_current_xact_id()::xid::text as version`
  return row as Loaded
}

/** On a cluster: locks the batches on their workers, and reads there which events are stored. */
async function loadStoredOnWorkers(
  tx: Tx,
  identities: readonly EventIdentity[],
  locked: readonly LoadedBatch[],
): Promise<StoredEvent[]> {
  await lockOnWorkers(
    tx,
    locked.map(({ state }) => state.key),
  )
  return storedEventsOf(tx, identities, new Map(locked.map(({ state }) => [state.id, state.key])))
}

/** Tokens of reruns that are not known to be bound to a batch. */
async function lockUnboundTokens(tx: Tx, items: readonly Item[]): Promise<TokenBinding[]> {
  const unbound = items.filter(({ sender }) => sender.commandId !== null && sender.batchId === null)
  if (unbound.length === 0) return []
  return lockBindings(tx, [...new Set(unbound.flatMap(({ sender }) => sender.tokenId ?? []))])
}

/** Jobs from the cache where no other server wrote to their batch; the others as read. */
async function mergeJobs(
  tx: Tx,
  {
    refs,
    unknown,
    cached,
    locked,
    loaded,
  }: {
    refs: References
    unknown: Pair[]
    cached: ReadonlyMap<string, CachedBatch | undefined>
    locked: readonly LoadedBatch[]
    loaded: Loaded
  },
): Promise<GroupState['jobs']> {
  const jobs: GroupState['jobs'] = new Map()
  const outdated = new Set<string>()
  for (const batch of locked) {
    const known = cached.get(batch.state.id)
    if (known === undefined) continue
    if (known.batch.version === batch.version) jobs.set(batch.state.id, known.byId)
    else outdated.add(batch.state.id)
  }
  const again = refs.jobs.filter((pair) => outdated.has(pair.batchId) && !unknown.includes(pair))
  const reread = again.length === 0 ? [] : await jobsOf(tx, again)
  for (const job of ([...loaded.jobs, ...reread] as StoredJobRow[]).map(jobOf)) put(jobs, job.batchId, job)
  return jobs
}

/**
 * An existing project keeps its name; a new one gets the normal form, in the events as well.
 * @returns how many projects each sender of a new one owns
 */
async function normaliseNewProjects(
  tx: Tx,
  items: readonly Item[],
  existing: ReadonlyMap<string, ProjectAccess>,
): Promise<Map<string, number>> {
  const toCreate = items.filter(({ checked }) => !existing.has(checked.event.source.project))
  for (const { checked } of toCreate) {
    checked.event.source.project = normalProjectName(checked.event.source.project)
  }
  if (toCreate.length === 0) return new Map()
  return ownedProjects(tx, [...new Set(toCreate.map(({ sender }) => sender.id))])
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
