import type { Tx } from '../db/sql.ts'

/**
 * Everything that leaves the service as a message is enqueued here, in the transaction of its cause, for one task of
 * graphile-worker (src/workers/outbox.ts).
 */
export const OUTBOX_TASK = 'mail'

export type Outgoing =
  /** A rule fired: one message to each of its channels. */
  | { firing: number }
  /** One message to one channel, or its next attempt. */
  | { delivery: string }
  | { confirmation: string }
  | { invitation: string }
  | { registered: AgentMail }
  /** A comment mentions a person. */
  | { mention: Mention }

export interface Mention {
  comment: number
  person: string
}

/** About the registration of an agent, for its owner. */
export interface AgentMail {
  /** The agent_id. */
  agent: string
  /** When it was registered. */
  at: string
  /** Absent in tasks of earlier releases. */
  by?: 'session' | 'reporter_token'
  /** Whether it had a token before, which is refused from then on. */
  replaced?: boolean
}

/**
 * @param options.key replaces a waiting message with the same key
 * @param options.at when it is due; default: at once
 * @param options.queue messages of one queue are sent one after the other
 */
export async function enqueueMessage(
  tx: Tx,
  message: Outgoing,
  options: { key?: string; at?: string; queue?: string } = {},
): Promise<void> {
  const { key = null, at = null, queue = null } = options
  await tx`/* outbox.enqueue */
    select graphile_worker.add_job(${OUTBOX_TASK}, ${JSON.stringify(message)}::text::json,
      queue_name => ${queue}, run_at => ${at}::timestamptz, job_key => ${key})`
}
