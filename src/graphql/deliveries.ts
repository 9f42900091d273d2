import { z } from 'zod'
import { entryOf } from '../checked.ts'
import {
  type DeliveryView,
  deliveriesOf,
  deliveryOfJobs,
  type JobDelivery,
  type SenderDelivery,
  withoutHosts,
} from '../domain/batches/index.ts'
import { cursorOf } from '../domain/cursors.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost, DERIVED } from './costs.ts'
import type { BatchNode } from './nodes.ts'
import { connectionType, DEFAULT_PAGE_SIZE, firstArgument, MAX_PAGE_SIZE, pageOf } from './paging.ts'

/** The delivery report of a batch: whether everything that was sent has arrived; the same as in REST. */

const CountsType = builder.objectRef<NonNullable<DeliveryView['reported']>>('DeliveryCounts')
builder.objectType(CountsType, {
  description: 'What reporters counted of their own events.',
  fields: (t) => ({
    produced: t.int({ resolve: ({ produced }) => produced }),
    accepted: t.int({ resolve: ({ accepted }) => accepted }),
    duplicate: t.int({ resolve: ({ duplicate }) => duplicate }),
    spilled: t.int({ resolve: ({ spilled }) => spilled }),
    dropped: t.int({ resolve: ({ dropped }) => dropped }),
    rejected: t.int({ description: 'Refused by the service', resolve: ({ rejected }) => rejected }),
  }),
})

const SenderType = builder.objectRef<SenderDelivery>('SenderDelivery')
builder.objectType(SenderType, {
  description: 'What has arrived of one process that reported a batch.',
  fields: (t) => ({
    sender: t.string({
      nullable: true,
      description: 'The last 12 digits of its event ids; null for events of an unknown process',
      resolve: ({ sender }) => sender,
    }),
    host: t.string({ nullable: true, resolve: ({ host }) => host }),
    stored: t.int({ resolve: ({ stored }) => stored }),
    reported: t.field({
      type: CountsType,
      nullable: true,
      description: 'Its latest counts; null if it sent none',
      resolve: ({ reported }) => reported,
    }),
    final: t.boolean({
      description: 'Whether it counted at its end; otherwise more events may have followed its counts',
      resolve: ({ final }) => final,
    }),
    missing: t.int({ nullable: true, resolve: ({ missing }) => missing }),
  }),
})

const DeliveryType = builder.objectRef<DeliveryView>('Delivery')
builder.objectType(DeliveryType, {
  fields: (t) => ({
    state: t.string({
      description:
        'open while it runs, complete, incomplete, or unknown when it ended and a process did not count at its end',
      resolve: ({ state }) => state,
    }),
    stored: t.int({ description: 'Events, each counted once', resolve: ({ stored }) => stored }),
    reported: t.field({ type: CountsType, nullable: true, resolve: ({ reported }) => reported }),
    missing: t.int({
      nullable: true,
      description: 'Pending events: produced, neither dropped nor rejected, and not stored',
      resolve: ({ missing }) => missing,
    }),
    missingEpochs: t.float({
      description: 'Epochs that the pace of their jobs leads to expect and that are not stored',
      resolve: (delivery) => delivery.missing_epochs,
    }),
    gaps: t.field({
      type: 'JSON',
      description: 'Where epochs are missing: `job_id` and `ranges` of the first jobs that lack any',
      resolve: ({ gaps }) => gaps,
    }),
    senders: t.field({
      type: [SenderType],
      description: 'The processes that reported it, at most 100; those with pending events first',
      resolve: ({ senders }) => senders,
    }),
  }),
})

const JobDeliveryType = builder.objectRef<JobDelivery>('JobDelivery')
builder.objectType(JobDeliveryType, {
  description: 'What has arrived of one job, and where epochs are missing.',
  fields: (t) => ({
    jobId: t.id({ resolve: (job) => job.job_id }),
    status: t.string({ resolve: ({ status }) => status }),
    epochs: t.int({ description: 'Stored epochs', resolve: ({ epochs }) => epochs }),
    firstEpoch: t.field({ type: 'Step', nullable: true, resolve: (job) => job.first_epoch }),
    lastEpoch: t.field({ type: 'Step', nullable: true, resolve: (job) => job.last_epoch }),
    saidEpochs: t.float({
      nullable: true,
      description: '`train_epochs` of its end',
      resolve: (job) => job.said_epochs,
    }),
    every: t.float({
      nullable: true,
      description: 'The usual step between its epochs',
      resolve: ({ every }) => every,
    }),
    missing: t.float({
      description: 'Epochs that are missing by its steady pace',
      resolve: ({ missing }) => missing,
    }),
    gaps: t.field({
      type: 'JSON',
      description: 'From which to which epoch they are missing, in pairs: the first 50',
      resolve: ({ gaps }) => gaps,
    }),
  }),
})
const JobDeliveryConnection = connectionType<typeof JobDeliveryType, JobDelivery>(
  'JobDelivery',
  JobDeliveryType,
)

const cursors = cursorOf('delivery of jobs', z.int().min(0))

builder.objectFields(BatchType, (t) => ({
  delivery: t.loadable({
    type: DeliveryType,
    byPath: true,
    complexity: DERIVED,
    description: 'Whether everything that the reporter produced has arrived',
    load: async (batches: BatchNode[], { db, caller }) => {
      const found = await deliveriesOf(
        db,
        batches.map(({ row }) => row),
      )
      return batches.map(({ row, share }) => {
        const delivery = entryOf(found, row.key)
        return share !== null || caller.kind === 'anonymous' ? withoutHosts(delivery) : delivery
      })
    },
    resolve: (batch) => batch,
  }),
  jobDeliveries: t.loadable({
    type: JobDeliveryConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'What has arrived of each job; oldest job first',
    args: {
      first: t.arg.int({
        required: true,
        defaultValue: DEFAULT_PAGE_SIZE,
        validate: firstArgument(MAX_PAGE_SIZE.deliveries),
      }),
      after: t.arg.string(),
    },
    load: async (batches: BatchNode[], { db }, { first, ...args }) => {
      const after = cursors.read(args.after, 'after')
      const places = batches.map(({ row }) => ({ batchKey: row.key, after }))
      const pages = first === 0 ? [] : await deliveryOfJobs(db, places, first + 1)
      return batches.map(({ row }, i) =>
        pageOf(pages[i] ?? [], {
          first,
          after,
          nodeOf: (job) => job,
          cursorOf: ({ key }) => cursors.write(key),
          total: () => row.n_jobs,
        }),
      )
    },
    resolve: (batch) => batch,
  }),
}))
