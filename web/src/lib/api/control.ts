import {
  BatchAgentDocument,
  type CommandRowFragment,
  type DeliveryRowFragment,
  EpochTimesDocument,
  JobDeliveriesDocument,
  type JobDeliveriesQuery,
  type StepRowFragment,
} from '../../__generated__/graphql.ts'
import { batchAt, partOf } from './batch-parts.ts'
import type { Batch } from './batches.ts'
import { nextOf, nodesOf, notFound, query } from './graphql.ts'
import { post } from './request.ts'
import { type WireRow, wireRow } from './wire-row.ts'

/** An entry of a batch's timeline. */
export type Step = WireRow<Omit<StepRowFragment, 'kind' | 'actor'>> & {
  kind: 'stop' | 'rerun' | 'batch' | 'share' | 'agent' | 'mail'
  actor: StepRowFragment['actor'] & { kind: 'user' | 'agent' | 'reporter' | 'service' }
}
/** A command to an agent about a batch. */
export type Command = WireRow<CommandRowFragment, 'kind' | 'state'>
export type Delivery = WireRow<DeliveryRowFragment> & {
  state: 'open' | 'complete' | 'incomplete' | 'unknown'
}

/** The timeline of a batch and its commands; null for visitors, who may not see them. */
export async function fetchControl(id: string): Promise<{ commands: Command[]; timeline: Step[] } | null> {
  const { timeline, agentCommands } = await partOf(id, 'control')
  if (timeline == null || agentCommands == null) return null
  const commands = nodesOf(agentCommands).map((row) => wireRow(row, 'kind', 'state'))
  // The schema declares kinds as strings.
  return { commands, timeline: timeline.map((step) => wireRow(step) as Step) }
}
export interface RerunRequest {
  jobs: 'all' | 'failed'
  command?: string
  cwd?: string
  /** SHA-256 (hexadecimal) of the command that was shown to the user. The service refuses to run another one. */
  confirm: string
}
export const rerunBatch = (
  id: string,
  request: RerunRequest,
): Promise<{ cmd_id: string; host_id: string; state: 'pending' }> => post(`${batchAt(id)}/rerun`, request)
export const cancelCommand = (id: string, cmdId: string): Promise<void> =>
  post(`${batchAt(id)}/commands/${encodeURIComponent(cmdId)}/cancel`)

/** A later report of the reporter overrides this. */
export const endBatch = (
  id: string,
  body: { status: 'failed' | 'stopped'; reason?: string },
): Promise<Batch> => post(`${batchAt(id)}/end`, body)

/** The times of a job's epochs in milliseconds; both columns ascend. */
export async function fetchEpochTimes(
  batchId: string,
  id: string,
): Promise<{ epochs: number[]; times: number[] }> {
  const { epochs = [], times = [] } = (await query(EpochTimesDocument, { batchId, id })).job?.epochTimes ?? {}
  return { epochs, times: times.map((time) => Date.parse(time)) }
}

/** The agent that would run a rerun; null if there is none. */
export const fetchAgentOf = async (id: string) =>
  (await query(BatchAgentDocument, { id })).batch?.agent ?? null

export async function fetchDelivery(id: string): Promise<Delivery> {
  const { delivery } = await partOf(id, 'delivery')
  if (delivery === undefined) throw notFound('batch')
  // The schema declares the state as a string.
  return wireRow(delivery) as Delivery
}
type JobDeliveryRow = NonNullable<JobDeliveriesQuery['batch']>['jobDeliveries']['edges'][number]['node']
export type JobDelivery = WireRow<Omit<JobDeliveryRow, 'gaps'>> & { gaps: [number, number][] }
export async function fetchJobDeliveries(id: string): Promise<JobDelivery[]> {
  const all: JobDelivery[] = []
  for (let after: string | null = null; ; ) {
    const { batch }: JobDeliveriesQuery = await query(JobDeliveriesDocument, { id, first: 250, after })
    if (batch == null) throw notFound('batch')
    // The schema declares the gaps as JSON.
    all.push(...nodesOf(batch.jobDeliveries).map((job) => wireRow(job) as unknown as JobDelivery))
    after = nextOf(batch.jobDeliveries)
    if (after === null) return all
  }
}
