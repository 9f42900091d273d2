import DataLoader from 'dataloader'
import type { Prisma, PrismaClient } from '../db/generated/client.ts'
import { callerMay, type Right, type Role, visibleProjectKeys } from '../domain/access.ts'
import { type Caller, NO_USER } from '../domain/caller.ts'
import { createDashboardCache, type DashboardCache } from '../domain/dashboard/index.ts'
import { type BatchEtas, etaOf } from '../domain/eta/index.ts'
import type { Live } from '../domain/live/index.ts'
import type { Clock } from '../domain/liveness.ts'
import type { Telemetry } from '../domain/telemetry.ts'
import { createTurns, type Turns } from '../turns.ts'
import { ListTurns } from './list-turns.ts'

/** The state that the resolvers of one request share. Each value is read once a request. */
export interface Context {
  caller: Caller
  db: Telemetry
  prisma: PrismaClient
  clock: Clock
  /** The channels that subscriptions follow. */
  live: Pick<Live, 'cursor' | 'follow'>
  /** The position in the change log before anything is read, so that a stream from there misses no change. */
  cursor: number
  /** Keys of the projects that the caller sees; null: all of them. */
  visibleProjects: () => Promise<readonly number[] | null>
  /** The view of a project; null if its key is unknown. Does not check whether the caller may see it. */
  projects: DataLoader<number, ProjectRow | null>
  /** The role of the caller in a project, and its permissions there. */
  memberships: DataLoader<number, Membership>
  /** ETAs by batch; undefined for batches that do not run. */
  etas: DataLoader<number, BatchEtas | undefined>
  dashboardCache: DashboardCache
  /** Whether there is a mail server. */
  mailConfigured: boolean
  /** How many points the metrics of this request may still return. */
  pointsLeft: number
  /** Others get their turn while this request does much. */
  turns: Turns
  /** The lists that are being completed in turns. */
  lists: ListTurns
  /** Whether lists of numbers pass the executor as one value (columns.ts). */
  wholeColumns: boolean
}

export interface Membership {
  role: Role
  may: (right: Right) => boolean
}

export type ProjectRow = Prisma.ProjectGetPayload<{ include: { owner: true } }>

/** The most points of one answer: 2 million take 40 MB of JSON. Sampled series rarely reach it. */
export const MAX_POINTS_ANSWERED = 2_000_000

export function createContext(options: {
  caller: Caller
  db: Telemetry
  prisma: PrismaClient
  clock: Clock
  live: Context['live']
  /** Shared by all requests, because it caches sums. */
  dashboardCache?: DashboardCache
  mailConfigured?: boolean
  turns?: Turns
}): Context {
  const { caller, db, prisma } = options
  let visible: Promise<readonly number[] | null> | undefined
  const lists = new ListTurns()
  const together = { batchScheduleFn: lists.schedule }
  return {
    ...options,
    cursor: options.live.cursor,
    visibleProjects: () => {
      visible ??= visibleProjectKeys(db, caller, [])
      return visible
    },
    projects: new DataLoader(async (keys) => {
      const rows = await prisma.project.findMany({
        where: { key: { in: [...keys] } },
        include: { owner: true },
      })
      const byKey = new Map(rows.map((row) => [row.key, row]))
      return keys.map((key) => byKey.get(key) ?? null)
    }, together),
    memberships: new DataLoader(async (keys) => {
      const userId = caller.kind === 'known' ? caller.user.id : undefined
      const rows = await prisma.project.findMany({
        where: { key: { in: [...keys] } },
        select: {
          key: true,
          visibility: true,
          ownerId: true,
          members: { where: { userId: userId ?? NO_USER }, select: { role: true } },
        },
      })
      const byKey = new Map(rows.map((row) => [row.key, row]))
      return keys.map((key) => {
        const row = byKey.get(key)
        if (row === undefined) return { role: null, may: () => false }
        const facts = {
          visibility: row.visibility as 'private' | 'public',
          ownerId: row.ownerId,
          role: (row.members[0]?.role ?? null) as 'member' | 'viewer' | null,
        }
        return {
          role: row.ownerId === userId ? 'owner' : facts.role,
          may: (right) => callerMay(right, caller, facts),
        }
      })
    }, together),
    etas: new DataLoader(async (keys) => {
      const etas = await etaOf(db, keys, options.clock)
      return keys.map((key) => etas.get(key))
    }, together),
    dashboardCache: options.dashboardCache ?? createDashboardCache(),
    mailConfigured: options.mailConfigured ?? false,
    pointsLeft: MAX_POINTS_ANSWERED,
    turns: options.turns ?? createTurns(),
    lists,
    wholeColumns: false,
  }
}

/** Those of these projects that the caller may administer. */
export async function administeredOf({ memberships }: Context, keys: readonly number[]): Promise<number[]> {
  const all = await Promise.all(keys.map((key) => memberships.load(key)))
  return keys.filter((_, i) => all[i]?.may('administer'))
}

export async function sees(context: Context, projectKey: number): Promise<boolean> {
  const visible = await context.visibleProjects()
  return visible === null || visible.includes(projectKey)
}
