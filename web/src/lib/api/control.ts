import { BatchAgentDocument, EpochTimesDocument } from '../../__generated__/graphql.ts'
import { mark } from '../live/stream.ts'
import { batchAt } from './batches.ts'
import { ask } from './graphql.ts'
import { get, post, Refusal } from './request.ts'
import type { Page } from './types.ts'

/** A step of a batch's timeline, as REST and the stream tell it. */
export interface Step {
  at: string
  step: string
  kind: 'stop' | 'rerun' | 'batch' | 'share' | 'agent' | 'mail'
  cmd_id: string | null
  actor: { kind: 'user' | 'agent' | 'reporter' | 'service'; id: string | null; name: string | null }
  detail: Record<string, unknown>
}
/** What an agent was told to do about a batch. */
export interface Command {
  cmd_id: string
  kind: 'rerun' | 'stop'
  state: 'pending' | 'in_flight' | 'done' | 'failed' | 'expired' | 'cancelled'
  batch_id: string
  linked_batch_ids: string[]
  host_id: string
  hostname: string
  command: string | null
  cwd: string | null
  overridden: string[]
  jobs: 'all' | 'failed' | null
  pid: number | null
  exit_code: number | null
  failure_reason: string | null
  output_tail: string | null
  requested_by: { id: string; name: string } | null
  created_at: string
  acked_at: string | null
  finished_at: string | null
}
/** What is known of stops, reruns and all else that happened; null for visitors, who may not know. */
export async function fetchControl(id: string): Promise<{ commands: Command[]; timeline: Step[] } | null> {
  await mark()
  try {
    const [commands, timeline] = await Promise.all([
      get<{ items: Command[] }>(`${batchAt(id)}/commands`),
      get<{ items: Step[] }>(`${batchAt(id)}/timeline`),
    ])
    return { commands: commands.items, timeline: timeline.items }
  } catch (error) {
    if (error instanceof Refusal && (error.status === 401 || error.status === 403)) return null
    throw error
  }
}
export interface RerunWish {
  jobs: 'all' | 'failed'
  command?: string
  cwd?: string
}
export const rerunBatch = (
  id: string,
  wish: RerunWish,
): Promise<{ cmd_id: string; host_id: string; state: 'pending' }> => post(`${batchAt(id)}/rerun`, wish)
export const cancelCommand = (id: string, cmdId: string): Promise<void> =>
  post(`${batchAt(id)}/commands/${encodeURIComponent(cmdId)}/cancel`)

/** When the epochs of a job were, in milliseconds; both columns rise. */
export async function fetchEpochTimes(
  batchId: string,
  id: string,
): Promise<{ epochs: number[]; times: number[] }> {
  const { epochs = [], times = [] } = (await ask(EpochTimesDocument, { batchId, id })).job?.epochTimes ?? {}
  return { epochs, times: times.map((time) => Date.parse(time)) }
}

/** The agent that a rerun would go to; null where there is none. */
export const fetchAgentOf = async (id: string) => (await ask(BatchAgentDocument, { id })).batch?.agent ?? null

export interface Delivery {
  state: 'open' | 'complete' | 'incomplete' | 'unknown'
  stored: number
  reported: Record<'produced' | 'accepted' | 'duplicate' | 'spilled' | 'dropped', number> | null
  missing: number | null
}
export const fetchDelivery = (id: string): Promise<Delivery> => get(`${batchAt(id)}/delivery`)
export interface JobDelivery {
  job_id: string
  status: string
  epochs: number
  first_epoch: number | null
  last_epoch: number | null
  said_epochs: number | null
  every: number | null
  missing: number
  gaps: [number, number][]
}
export async function fetchJobDeliveries(id: string): Promise<JobDelivery[]> {
  const all: JobDelivery[] = []
  let cursor: string | undefined
  do {
    const page: Page<JobDelivery> = await get(`${batchAt(id)}/delivery/jobs`, { limit: 250, cursor })
    all.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all
}
