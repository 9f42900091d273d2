import {
  BatchAgentDocument,
  EpochTimesDocument,
  JobDeliveriesDocument,
  type JobDeliveriesQuery,
} from '../../__generated__/graphql.ts'
import { partOf } from './batch-parts.ts'
import { batchAt } from './batches.ts'
import { ask, nextOf, nodesOf, notFound } from './graphql.ts'
import { post } from './request.ts'
import { commandOf, stepOf } from './shapes.ts'
import type { Batch, Command, Step } from './types.ts'

export type { Command, Step } from './types.ts'

/** What is known of stops, reruns and all else that happened; null for visitors, who may not know. */
export async function fetchControl(id: string): Promise<{ commands: Command[]; timeline: Step[] } | null> {
  const { timeline, agentCommands } = await partOf(id, 'control')
  if (timeline == null || agentCommands == null) return null
  return { commands: nodesOf(agentCommands).map(commandOf), timeline: timeline.map(stepOf) }
}
export interface RerunWish {
  jobs: 'all' | 'failed'
  command?: string
  cwd?: string
  /** SHA-256 of the command that the person was shown, in hexadecimal: if another would run, the service refuses. */
  confirm: string
}
export const rerunBatch = (
  id: string,
  wish: RerunWish,
): Promise<{ cmd_id: string; host_id: string; state: 'pending' }> => post(`${batchAt(id)}/rerun`, wish)
export const cancelCommand = (id: string, cmdId: string): Promise<void> =>
  post(`${batchAt(id)}/commands/${encodeURIComponent(cmdId)}/cancel`)

/** What its reporter says later counts above it. */
export const endBatch = (
  id: string,
  body: { status: 'failed' | 'stopped'; reason?: string },
): Promise<Batch> => post(`${batchAt(id)}/end`, body)

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
  reported: Record<'produced' | 'accepted' | 'duplicate' | 'spilled' | 'dropped' | 'rejected', number> | null
  missing: number | null
  missing_epochs: number
}
export async function fetchDelivery(id: string): Promise<Delivery> {
  const { delivery } = await partOf(id, 'delivery')
  if (delivery === undefined) throw notFound('batch')
  const { state, stored, reported, missing, missingEpochs } = delivery
  return { state: state as Delivery['state'], stored, reported, missing, missing_epochs: missingEpochs }
}
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
  for (let after: string | null = null; ; ) {
    const { batch }: JobDeliveriesQuery = await ask(JobDeliveriesDocument, { id, first: 250, after })
    if (batch == null) throw notFound('batch')
    for (const job of nodesOf(batch.jobDeliveries))
      all.push({
        job_id: job.jobId,
        status: job.status,
        epochs: job.epochs,
        first_epoch: job.firstEpoch,
        last_epoch: job.lastEpoch,
        said_epochs: job.saidEpochs,
        every: job.every,
        missing: job.missing,
        gaps: job.gaps as unknown as JobDelivery['gaps'],
      })
    after = nextOf(batch.jobDeliveries)
    if (after === null) return all
  }
}
