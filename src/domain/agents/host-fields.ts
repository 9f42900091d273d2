import { z } from 'zod'
import {
  type Fields,
  flag,
  float,
  id,
  instant,
  int,
  jsonOf,
  nullable,
  own,
  person,
  text,
  type ViewOf,
} from '../field.ts'

/** The fields of a host (specification §2.3 "Agent host"). None is visible to visitors. */
export const hostFields = {
  id: { type: id, means: 'The agent_id; null without an agent', public: 'hidden' },
  agent_id: {
    type: nullable(id),
    means: 'Null for a host without an agent that batches ran on',
    public: 'hidden',
  },
  hostname: { type: text, column: 'hostname', public: 'hidden' },
  capabilities: { type: jsonOf(z.unknown()), column: 'capabilities', public: 'hidden' },
  version: { type: text, column: 'version', public: 'hidden' },
  owner: { type: person, public: 'hidden' },
  online: { type: flag, means: 'Heard from within 90 s', public: 'hidden' },
  last_seen_at: { type: instant, column: 'last_seen_at', public: 'hidden' },
  registered_at: { type: instant, column: 'registered_at', public: 'hidden' },
  rotated_at: {
    type: nullable(instant),
    means: 'When another registration of the host last replaced its token',
    column: 'rotated_at',
    public: 'hidden',
  },
  revoked_at: { type: nullable(instant), column: 'revoked_at', public: 'hidden' },
  poll_interval_s: { type: int, public: 'hidden' },
  running: {
    type: own(z.array(z.object({ cmd_id: z.string(), pid: z.number() }))),
    means: 'From its last heartbeat',
    column: 'running',
    public: 'hidden',
  },
  pending_commands: { type: int, column: 'pending_commands', public: 'hidden' },
  clock_skew_s: {
    type: nullable(float),
    means: "Seconds that its clock is behind the service's, by its newest batch; null if unknown",
    public: 'hidden',
  },
} as const satisfies Fields

/** A host in the API. */
export type HostView = ViewOf<typeof hostFields>
