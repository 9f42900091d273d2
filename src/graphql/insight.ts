import { entryOf } from '../checked.ts'
import {
  type AgentOfBatch,
  agentsOf,
  type StepView,
  stepFields,
  timelinesOf,
} from '../domain/agents/index.ts'
import { type Summary, summaryFields, summaryOf } from '../domain/dashboard/index.ts'
import { etaFields, NO_ETA, type ShownEta } from '../domain/eta/index.ts'
import { type Health, healthFields, healthOfBatches } from '../domain/health/index.ts'
import { type EpochTimes, epochTimesOf } from '../domain/logs/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import { JobType } from './job.ts'
import type { BatchNode, JobNode } from './nodes.ts'

/** ETA, health and activity, computed by the same functions as in REST. */

const EtaType = builder.objectRef<ShownEta>('Eta')
builder.objectType(EtaType, {
  description: 'Seconds until it is done, with a range; all null until there is enough to go by.',
  fields: (t) => declared(t, etaFields, {}, (eta) => eta),
})

const HealthType = builder.objectRef<Health>('Health')
builder.objectType(HealthType, {
  description: 'Whether a batch is alive, with the reasons if it is not.',
  fields: (t) => declared(t, healthFields, {}, (health) => health),
})

const ActorType = builder.objectRef<StepView['actor']>('TimelineActor')
builder.objectType(ActorType, {
  fields: (t) => ({
    kind: t.string({ description: 'user, agent, reporter or service', resolve: ({ kind }) => kind }),
    id: t.id({ nullable: true, resolve: ({ id }) => id }),
    name: t.string({ nullable: true, resolve: ({ name }) => name }),
  }),
})

const StepType = builder.objectRef<StepView>('TimelineStep')
builder.objectType(StepType, {
  description: "An entry of a batch's timeline, with its author.",
  fields: (t) => declared(t, stepFields, { actor: ActorType }, (step) => step),
})

const AgentType = builder.objectRef<AgentOfBatch>('BatchAgent')
builder.objectType(AgentType, {
  description: "The owner's agent on the host of the batch, which a rerun needs.",
  fields: (t) => ({
    hostId: t.id({ resolve: ({ id }) => id }),
    hostname: t.string({ resolve: ({ hostname }) => hostname }),
    online: t.boolean({ resolve: ({ online }) => online }),
    lastSeenAt: t.field({ type: 'DateTime', resolve: (agent) => agent.last_seen_at }),
    version: t.string({ resolve: ({ version }) => version }),
    running: t.int({ description: 'Number of processes that it watches', resolve: ({ running }) => running }),
  }),
})

/** Whether the caller may see the commands about the batch (contract §2): never through a share. */
const knowsCommands = async (
  { row, share }: BatchNode,
  { memberships: standings }: Context,
): Promise<boolean> => share === null && (await standings.load(row.project_key)).may('know_commands')

/** The keys of those of these batches whose commands the caller may see. */
async function knownIn(batches: readonly BatchNode[], context: Context): Promise<number[]> {
  const known = await Promise.all(batches.map((batch) => knowsCommands(batch, context)))
  return batches.flatMap(({ row }, i) => (known[i] ? [row.key] : []))
}

builder.objectFields(BatchType, (t) => ({
  timeline: t.loadableList({
    type: StepType,
    byPath: true,
    nullable: true,
    complexity: { field: 250, multiplier: 1 },
    description: 'What happened to the batch, oldest first; null for visitors',
    load: async (batches: BatchNode[], context) => {
      const known = await knownIn(batches, context)
      const { db, caller, clock } = context
      const reader = { userId: caller.kind === 'known' ? caller.user.id : null }
      const found = known.length === 0 ? new Map() : await timelinesOf(db, known, reader, clock.now)
      return batches.map(({ row }) => found.get(row.key) ?? null)
    },
    resolve: (batch) => batch,
  }),
  agent: t.loadable({
    type: AgentType,
    byPath: true,
    nullable: true,
    complexity: DERIVED,
    description: 'Null for visitors, and if its owner has no agent on its host',
    load: async (batches: BatchNode[], context) => {
      const known = new Set(await knownIn(batches, context))
      const rows = batches.flatMap(({ row }) => (known.has(row.key) ? row : []))
      const found = await agentsOf(context.prisma, rows, context.clock.now)
      return batches.map(({ row }) => found.get(row.key) ?? null)
    },
    resolve: (batch) => batch,
  }),
  eta: t.field({
    type: EtaType,
    complexity: DERIVED,
    resolve: async ({ row }, _args, { etas }) => (await etas.load(row.key))?.batch ?? NO_ETA,
  }),
  health: t.loadable({
    type: HealthType,
    byPath: true,
    complexity: DERIVED,
    load: async (keys: number[], { db, clock }) => {
      const found = await healthOfBatches(db, keys, clock)
      return keys.map((key) => found.get(key) ?? new Error('the batch no longer exists'))
    },
    resolve: ({ row }) => row.key,
  }),
}))

const EpochTimesType = builder.objectRef<EpochTimes>('EpochTimes')
builder.objectType(EpochTimesType, {
  description: 'Columns of equal length.',
  fields: (t) => ({
    epochs: t.field({ type: ['Step'], resolve: ({ epochs }) => epochs }),
    times: t.field({ type: ['DateTime'], resolve: ({ times }) => times }),
  }),
})

builder.objectFields(JobType, (t) => ({
  epochTimes: t.loadable({
    type: EpochTimesType,
    byPath: true,
    complexity: { field: 250, multiplier: 1 },
    description:
      'Times of its epochs, to align log lines with steps; thinned out evenly if there are more than 5,000',
    load: async (jobs: JobNode[], { db }) => {
      const found = await epochTimesOf(
        db,
        jobs.map(({ row }) => row),
      )
      return jobs.map(({ row }) => entryOf(found, row.key))
    },
    resolve: (job) => job,
  }),
  eta: t.field({
    type: EtaType,
    resolve: async ({ row }, _args, { etas }) =>
      (await etas.load(row.batch_key))?.jobs.get(row.key) ?? NO_ETA,
  }),
}))

const DashboardType = builder.objectRef<Summary>('Dashboard')
builder.objectType(DashboardType, {
  description: 'Activity in the projects that you can see. Counts are of batches unless they say jobs.',
  fields: (t) => declared(t, summaryFields, {}, (summary) => summary),
})

builder.queryField('dashboard', (t) =>
  t.field({
    type: DashboardType,
    complexity: { field: 500, multiplier: 1 },
    args: {
      project: t.arg.string({ description: 'Slug of a project. Default: all projects that you can see' }),
    },
    resolve: (_root, { project }, { db, caller, clock, dashboardCache }) =>
      summaryOf(db, caller, project == null ? [] : [project], clock, dashboardCache),
  }),
)
