import { z } from 'zod'
import { entryOf } from '../checked.ts'
import {
  countFields,
  type DeliveryView,
  deliveriesOf,
  deliveryFields,
  deliveryOfJobs,
  type JobDelivery,
  jobDeliveryFields,
  type SenderDelivery,
  senderFields,
  withoutHosts,
} from '../domain/batches/index.ts'
import { cursorOf } from '../domain/cursors.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { connectionType, pageArgs, pageOf } from './paging.ts'

/** The delivery report of a batch: whether everything that was sent has arrived; the same as in REST. */

const CountsType = builder.objectRef<NonNullable<DeliveryView['reported']>>('DeliveryCounts')
builder.objectType(CountsType, {
  description: 'What reporters counted of their own events.',
  fields: (t) => declared(t, countFields, {}, (counts) => counts),
})

const SenderType = builder.objectRef<SenderDelivery>('SenderDelivery')
builder.objectType(SenderType, {
  description: 'The delivery report of one process of a batch.',
  fields: (t) => declared(t, senderFields, { reported: CountsType }, (sender) => sender),
})

const DeliveryType = builder.objectRef<DeliveryView>('Delivery')
builder.objectType(DeliveryType, {
  fields: (t) =>
    declared(t, deliveryFields, { reported: CountsType, senders: [SenderType] }, (delivery) => delivery),
})

const JobDeliveryType = builder.objectRef<JobDelivery>('JobDelivery')
builder.objectType(JobDeliveryType, {
  description: 'The delivery report of one job, with its missing epochs.',
  fields: (t) => declared(t, jobDeliveryFields, {}, (job) => job),
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
    description: 'The delivery report of each job, oldest job first',
    args: pageArgs('deliveries'),
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
