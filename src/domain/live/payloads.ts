import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads, Payload, PayloadLoaders } from '../../stream/payloads.ts'
import { type ProjectFacts, userMay } from '../access.ts'
import { type BatchRow, type BatchView, readBatches } from '../batches/index.ts'
import { ANONYMOUS } from '../caller.ts'
import { type JobView, readJobs } from '../jobs/index.ts'
import type { Clock } from '../liveness.ts'
import { viewsOfBatches, viewsOfJobs } from '../present.ts'
import { anonymizeBatch, anonymizeJob, publicBatch, publicJob } from '../shares/index.ts'
import type { Telemetry } from '../telemetry.ts'
import { loadCommands, loadHosts } from './agent-payloads.ts'
import { loadComments, loadNotices } from './comment-payloads.ts'
import { loadFiles, loadMedia } from './file-payloads.ts'
import type { Viewer } from './follow.ts'
import { loadEpochs, loadLines, loadSnapshots } from './series-payloads.ts'

/**
 * What the stream says of each type of change (contract §6), by the same views as REST. One look-up serves all
 * changes that are told together.
 */
export function payloadLoaders(sql: Telemetry, clock: () => Clock): PayloadLoaders<Viewer> {
  return {
    summary: (changes) => loadSummaries(sql, clock(), changes),
    batches: (changes) => loadLists(sql, clock(), changes),
    project: (changes) => loadProjects(sql, changes),
    host: (changes) => loadHosts(sql, clock().now, changes),
    commands: async (changes) => {
      const batches = await findBatches(
        sql,
        clock(),
        changes.flatMap((change) => change.batchKey ?? []),
      )
      const projects = [...batches.values()].map(({ row }) => row.project_key)
      return loadCommands(sql, clock().now, changes, batches, await findMembers(sql, projects))
    },
    epochs: (changes) => loadEpochs(sql, changes),
    comments: (changes) => loadComments(sql, changes),
    notices: (changes) => loadNotices(sql, changes),
    files: (changes) => loadFiles(sql, changes),
    media: (changes) => loadMedia(sql, changes),
    lines: (changes) => loadLines(sql, changes),
    snapshots: (changes) => loadSnapshots(sql, changes),
  }
}

/** Changes that are sent to no client, but after which streams may have lost their permissions (grants.ts). */
export const ACCESS_CHANGES: ReadonlySet<string> = new Set(['access', 'revoked'])

/** A batch in a message: without `can`, which is another one for each reader. */
export type BatchPayload = Omit<BatchView, 'can'>

interface FoundBatch {
  row: BatchRow
  view: BatchView
  json: string
}

async function findBatches(db: Db, clock: Clock, keys: number[]): Promise<Map<number, FoundBatch>> {
  if (keys.length === 0) return new Map()
  const rows = await readBatches(db, ANONYMOUS, [...new Set(keys)])
  const views = await viewsOfBatches(db, ANONYMOUS, rows, clock)
  return new Map(
    rows.map((row, i) => {
      const view = itemAt(views, i)
      return [row.key, { row, view, json: JSON.stringify(withoutCan(view)) }]
    }),
  )
}

function withoutCan({ can: _, ...batch }: BatchView): BatchPayload {
  return batch
}

async function findJobs(
  db: Db,
  clock: Clock,
  keys: number[],
): Promise<Map<number, { view: JobView; json: string }>> {
  if (keys.length === 0) return new Map()
  const rows = await readJobs(db, [...new Set(keys)])
  const views = await viewsOfJobs(db, rows, clock)
  return new Map(
    rows.map((row, i) => {
      const view = itemAt(views, i)
      return [row.key, { view, json: JSON.stringify(view) }]
    }),
  )
}

/** `{batch, jobs}`: the batch, and those of its jobs that changed. */
async function loadSummaries(
  db: Db,
  clock: Clock,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const [batches, jobs] = await Promise.all([
    findBatches(
      db,
      clock,
      changes.flatMap((change) => change.batchKey ?? []),
    ),
    findJobs(
      db,
      clock,
      changes.flatMap((change) => change.keys),
    ),
  ])
  return changes.map(({ batchKey, keys }) => {
    const batch = batchKey === null ? undefined : batches.get(batchKey)
    if (batch === undefined) return null
    const changed = keys.flatMap((key) => jobs.get(key) ?? [])
    const open: Payload = {
      key: '',
      text: () => `{"batch":${batch.json},"jobs":[${changed.map((job) => job.json).join()}]}`,
    }
    const visible: Payload = {
      key: 'public',
      text: () =>
        JSON.stringify({
          batch: withoutCan(publicBatch(batch.view)),
          jobs: changed.map((job) => publicJob(job.view)),
        }),
    }
    const hidden: Payload = {
      key: 'anonymous',
      text: () => {
        const { batch: shown, text } = anonymizeBatch(batch.view)
        return JSON.stringify({
          batch: withoutCan(shown),
          jobs: changed.map((job) => anonymizeJob(job.view, text)),
        })
      },
    }
    return { payloadFor: (viewer) => (viewer.anonymous ? hidden : viewer.userId === null ? visible : open) }
  })
}

/**
 * `{batches}`: those that changed. On a project's channel all who follow it see them; on the dashboard each sees those
 * of its own projects, and gets no message if there are none.
 */
async function loadLists(
  db: Db,
  clock: Clock,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const batches = await findBatches(
    db,
    clock,
    changes.flatMap((change) => change.keys),
  )
  const onDashboard = changes.filter((change) => change.channel === 'dashboard')
  const members = await findMembers(
    db,
    onDashboard.flatMap((change) => change.keys.flatMap((key) => batches.get(key)?.row.project_key ?? [])),
  )
  const write = (list: FoundBatch[]): string => `{"batches":[${list.map((batch) => batch.json).join()}]}`
  const writePublic = (list: FoundBatch[]): string =>
    JSON.stringify({ batches: list.map(({ view }) => withoutCan(publicBatch(view))) })

  return changes.map(({ channel, keys }) => {
    const list = keys.flatMap((key) => batches.get(key) ?? [])
    if (list.length === 0) return null
    const whole: Payload = { key: '', text: () => write(list) }
    const visible: Payload = { key: 'public', text: () => writePublic(list) }
    if (channel !== 'dashboard') return { payloadFor: ({ userId }) => (userId === null ? visible : whole) }
    return {
      payloadFor(viewer) {
        if (viewer.admin) return whole
        const seen = list.map(({ row }) => sees(viewer, row, members.get(row.project_key)))
        if (!seen.includes(true)) return undefined
        const own = list.filter((_, i) => seen[i])
        return viewer.userId === null
          ? { key: `public ${seen.map(Number).join('')}`, text: () => writePublic(own) }
          : { key: seen.map(Number).join(''), text: () => write(own) }
      },
    }
  })
}

type Members = Map<string, NonNullable<ProjectFacts['role']>>

function sees(viewer: Viewer, row: BatchRow, members: Members | undefined): boolean {
  const { userId } = viewer
  return userMay('read', userId === null ? null : { id: userId, role: 'user' }, {
    visibility: row.visibility,
    ownerId: row.project_owner_id,
    role: (userId !== null && members?.get(userId)) || null,
  })
}

/** By project, who is in it. */
async function findMembers(db: Db, projectKeys: number[]): Promise<Map<number, Members>> {
  const found = new Map<number, Members>()
  if (projectKeys.length === 0) return found
  const rows = await db<
    { project_key: number; user_id: string; role: 'member' | 'viewer' }[]
  >`/* live.members_of */
    select project_key, user_id, role from project_members
    where project_key = any (${[...new Set(projectKeys)]}::int[])`
  for (const { project_key, user_id, role } of rows) {
    let members = found.get(project_key)
    if (members === undefined) {
      members = new Map()
      found.set(project_key, members)
    }
    members.set(user_id, role)
  }
  return found
}

/** `{project: {slug, display_name, visibility}}`. */
async function loadProjects(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const rows = await db<
    { key: number; slug: string; display_name: string; visibility: string }[]
  >`/* live.project */
    select key, slug, display_name, visibility from projects
    where key = any (${changes.flatMap((change) => change.keys)}::int[])`
  const payloads = new Map(rows.map(({ key, ...project }) => [key, JSON.stringify({ project })]))
  return changes.map(({ keys: [key] }) => {
    const payload = key === undefined ? undefined : payloads.get(key)
    return payload === undefined ? null : { payloadFor: () => ({ key: '', text: () => payload }) }
  })
}
