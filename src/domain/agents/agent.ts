import { type Clock, canEvaluate } from '../liveness.ts'

/** Constants and rules of agents and commands (specification §3.3, §3.4; contract §5). No I/O. */

/** The poll interval that agents get at registration, in seconds (specification §8). */
export const POLL_INTERVAL_S = 10
/** Three heartbeat intervals: an agent without a sign of life for longer is offline. */
export const ONLINE_MS = 90_000
/** A command that no agent took within a day expires. */
export const EXPIRES_MS = 24 * 60 * 60 * 1000

export const COMMAND_KINDS = ['rerun', 'stop'] as const
export type CommandKind = (typeof COMMAND_KINDS)[number]
export const COMMAND_STATES = ['pending', 'in_flight', 'done', 'failed', 'expired', 'cancelled'] as const
export type CommandState = (typeof COMMAND_STATES)[number]

/** The agent that sent the request, as identified by its token. */
export interface AgentCaller {
  id: string
  key: number
  userId: string
  hostname: string
}

export const isOnline = (agent: { lastSeenAt: string; revokedAt: string | null }, now: Date): boolean =>
  agent.revokedAt === null && Date.parse(agent.lastSeenAt) > now.getTime() - ONLINE_MS

/** Whether an agent is certainly offline. Right after an outage it is not: agents have not had time to report yet. */
export const isAway = (agent: { lastSeenAt: string; revokedAt: string | null }, clock: Clock): boolean =>
  agent.revokedAt === null && !isOnline(agent, clock.now) && canEvaluate(ONLINE_MS / 60_000, clock)

/** The earliest sign of life that counts as online, and the earliest valid pending command. */
export const onlineSince = (now: Date): string => new Date(now.getTime() - ONLINE_MS).toISOString()
export const pendingSince = (now: Date): string => new Date(now.getTime() - EXPIRES_MS).toISOString()

/** The steps of a command (contract §5). */
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

/** The steps that an agent reports as they happen; the others follow from requests of agents and users. */
export const REPORTED_STEPS = ['adopted', 'sigterm', 'sigkill'] as const satisfies readonly Step[]

/**
 * The time of something that happened that many seconds ago for the agent: its clock may be wrong, but durations are
 * right.
 */
export const secondsAgo = (now: Date, agoS: number | undefined): Date =>
  new Date(now.getTime() - Math.max(0, agoS ?? 0) * 1000)
