import type { Db } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads } from '../../stream/payloads.ts'
import { userMay } from '../access.ts'
import { commandsForStream, hostsByKey, hostView, timelineOf } from '../agents/index.ts'
import type { BatchRow } from '../batches/index.ts'
import type { Telemetry } from '../telemetry.ts'
import type { Viewer } from './follow.ts'

/** What the stream says of agents and their commands (contract §5, §6), by the same views as REST. */

/** `{host}`: to its owner and to administrators. */
export async function loadHosts(
  db: Db,
  now: Date,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const rows = await hostsByKey(db, [...new Set(changes.flatMap((change) => change.keys))])
  const hosts = new Map(
    rows.map((row) => [row.key, { owner: row.user_id, json: JSON.stringify({ host: hostView(row, now) }) }]),
  )
  return changes.map(({ keys: [key] }) => {
    const host = key === undefined ? undefined : hosts.get(key)
    if (host === undefined) return null
    return {
      payloadFor: (viewer) =>
        viewer.admin || viewer.userId === host.owner ? { key: '', text: () => host.json } : undefined,
    }
  })
}

/** `{commands, timeline}` of the batch: to those who may know what agents do about it, so to no visitor. */
export async function loadCommands(
  db: Telemetry,
  now: Date,
  changes: readonly LoggedChange[],
  batches: Map<number, { row: BatchRow }>,
  membersOf: Map<number, Map<string, 'member' | 'viewer'>>,
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const keys = [...new Set(changes.flatMap((change) => change.batchKey ?? []))]
  const payloads = new Map<number, { owner: string; others: string }>()
  for (const key of keys) {
    const owner = batches.get(key)?.row.owner_id ?? null
    const payloadFor = async (userId: string | null) => {
      const commands = await commandsForStream(db, key, { userId }, now)
      const timeline = await timelineOf(db, key, { userId }, now)
      return JSON.stringify({ commands, timeline })
    }
    const [forOwner, forOthers] = await Promise.all([payloadFor(owner), payloadFor(null)])
    payloads.set(key, { owner: forOwner, others: forOthers })
  }
  return changes.map(({ batchKey }) => {
    const row = batchKey === null ? undefined : batches.get(batchKey)?.row
    const payload = batchKey === null ? undefined : payloads.get(batchKey)
    if (row === undefined || payload === undefined) return null
    return {
      payloadFor(viewer) {
        if (viewer.userId === null) return undefined
        const who = { id: viewer.userId, role: viewer.admin ? ('admin' as const) : ('user' as const) }
        const role = membersOf.get(row.project_key)?.get(viewer.userId) ?? null
        const project = { visibility: row.visibility, ownerId: row.project_owner_id, role }
        if (!userMay('know_commands', who, project, row.owner_id)) return undefined
        return viewer.userId === row.owner_id
          ? { key: 'owner', text: () => payload.owner }
          : { key: '', text: () => payload.others }
      },
    }
  })
}
