import { type Clock, canEvaluate } from '../liveness.ts'

/** What is known of agents and commands without asking the database (specification §3.3, §3.4; contract §5). */

/** Suggested to agents at registration, in seconds (specification §8). */
export const POLL_INTERVAL_S = 10
/** Three heartbeat intervals: without a sign of life for longer, an agent is offline. */
export const ONLINE_MS = 90_000
/** A command that no agent took within a day expires. */
export const EXPIRES_MS = 24 * 60 * 60 * 1000

export const COMMAND_KINDS = ['rerun', 'stop'] as const
export type CommandKind = (typeof COMMAND_KINDS)[number]
export const COMMAND_STATES = ['pending', 'in_flight', 'done', 'failed', 'expired', 'cancelled'] as const
export type CommandState = (typeof COMMAND_STATES)[number]

/** An agent that asks, as its token proved. */
export interface AgentCaller {
  id: string
  key: number
  userId: string
  hostname: string
}

export const isOnline = (agent: { lastSeenAt: string; revokedAt: string | null }, now: Date): boolean =>
  agent.revokedAt === null && Date.parse(agent.lastSeenAt) > now.getTime() - ONLINE_MS

/** Offline for sure: not judged before agents had the time to tell a server that was away that they live. */
export const isAway = (agent: { lastSeenAt: string; revokedAt: string | null }, clock: Clock): boolean =>
  agent.revokedAt === null && !isOnline(agent, clock.now) && canEvaluate(ONLINE_MS / 60_000, clock)

/** Since when a sign of life counts and a pending command is valid. */
export const onlineSince = (now: Date): string => new Date(now.getTime() - ONLINE_MS).toISOString()
export const pendingSince = (now: Date): string => new Date(now.getTime() - EXPIRES_MS).toISOString()

/** The steps of a command's life (contract §5). */
export const STEPS = [
  'requested',
  'seen_by_reporter',
  'delivered',
  'acknowledged',
  'started',
  'adopted',
  'linked',
  'sigterm',
  'sigkill',
  'exited',
  'failed',
  'expired',
  'cancelled',
] as const
export type Step = (typeof STEPS)[number]

/** Those that an agent tells as they happen; the others follow from what it and people do. */
export const REPORTED_STEPS = ['adopted', 'sigterm', 'sigkill'] as const satisfies readonly Step[]

/** The time of something that the agent saw so many seconds ago: its clock may be anything, its sense of time is not. */
export const secondsAgo = (now: Date, agoS: number | undefined): Date =>
  new Date(now.getTime() - Math.max(0, agoS ?? 0) * 1000)
