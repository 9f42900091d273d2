import { type Summary, summaryOf } from '../domain/dashboard/index.ts'
import { NO_ETA, type ShownEta } from '../domain/eta/index.ts'
import { type Health, healthOf } from '../domain/health/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { DERIVED } from './costs.ts'
import { JobType } from './job.ts'

/** What the records amount to: how long it will take, whether it lives, what goes on; the same judgements as REST's. */

const EtaType = builder.objectRef<ShownEta>('Eta')
builder.objectType(EtaType, {
  description: 'Seconds until it is done, with a range; all null until there is enough to go by.',
  fields: (t) => ({
    etaS: t.float({ nullable: true, resolve: ({ etaS }) => etaS }),
    lowS: t.float({
      nullable: true,
      description: 'It takes longer in nine cases of ten',
      resolve: ({ lowS }) => lowS,
    }),
    highS: t.float({
      nullable: true,
      description: 'It takes longer in one case of ten',
      resolve: ({ highS }) => highS,
    }),
    etaAt: t.field({ type: 'DateTime', nullable: true, resolve: ({ etaAt }) => etaAt }),
    nSamples: t.int({
      description: 'Durations of epochs and of jobs that the estimate rests on',
      resolve: ({ nSamples }) => nSamples,
    }),
    basis: t.string({
      nullable: true,
      description: 'epochs, jobs, epochs+jobs or elapsed',
      resolve: ({ basis }) => basis,
    }),
  }),
})

const HealthType = builder.objectRef<Health>('Health')
builder.objectType(HealthType, {
  description: 'Whether a batch shows signs of life, and why not.',
  fields: (t) => ({
    status: t.string({ resolve: ({ status }) => status }),
    stalled: t.boolean({ resolve: ({ stalled }) => stalled }),
    lastSeenAt: t.field({ type: 'DateTime', resolve: ({ lastSeenAt }) => lastSeenAt }),
    silentS: t.float({ resolve: ({ silentS }) => silentS }),
    thresholdS: t.float({ resolve: ({ thresholdS }) => thresholdS }),
    idleJobs: t.idList({ description: 'Ids of jobs', resolve: ({ idleJobs }) => idleJobs }),
    reasons: t.stringList({ resolve: ({ reasons }) => reasons }),
  }),
})

builder.objectFields(BatchType, (t) => ({
  eta: t.field({
    type: EtaType,
    complexity: DERIVED,
    resolve: async ({ row }, _args, { etas }) => (await etas.load(row.key))?.batch ?? NO_ETA,
  }),
  health: t.field({
    type: HealthType,
    complexity: DERIVED,
    resolve: ({ row }, _args, { db, clock }) => healthOf(db, row.key, clock),
  }),
}))

builder.objectFields(JobType, (t) => ({
  eta: t.field({
    type: EtaType,
    resolve: async ({ row }, _args, { etas }) =>
      (await etas.load(row.batch_key))?.jobs.get(row.key) ?? NO_ETA,
  }),
}))

const DashboardType = builder.objectRef<Summary>('Dashboard')
builder.objectType(DashboardType, {
  description: 'What goes on in the projects that you see. Batches are counted, unless it says jobs.',
  fields: (t) => ({
    running: t.int({ resolve: ({ running }) => running }),
    completed: t.int({ resolve: ({ completed }) => completed }),
    failed: t.int({ resolve: ({ failed }) => failed }),
    stopped: t.int({ resolve: ({ stopped }) => stopped }),
    runningJobs: t.int({ resolve: ({ runningJobs }) => runningJobs }),
    finished24h: t.int({ resolve: ({ finished24h }) => finished24h }),
    failed24h: t.int({ resolve: ({ failed24h }) => failed24h }),
    stalled: t.int({ resolve: ({ stalled }) => stalled }),
    idle: t.int({ description: 'Jobs whose GPU is idle', resolve: ({ idle }) => idle }),
    gpuHours: t.float({ resolve: ({ gpuHours }) => gpuHours }),
    idleGpuHours: t.float({ resolve: ({ idleGpuHours }) => idleGpuHours }),
  }),
})

builder.queryField('dashboard', (t) =>
  t.field({
    type: DashboardType,
    complexity: { field: 100, multiplier: 1 },
    args: { project: t.arg.string({ description: 'A slug; all projects that you see without it' }) },
    resolve: (_root, { project }, { db, caller, clock, gpuHours }) =>
      summaryOf(db, caller, project == null ? [] : [project], clock, gpuHours),
  }),
)
