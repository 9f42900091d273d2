import { z } from 'zod'
import {
  type Fields,
  flag,
  float,
  id,
  int,
  jsonOf,
  nullable,
  own,
  shapeOf,
  step,
  text,
  type ViewOf,
  word,
} from '../field.ts'

/** The delivery reports of a batch and of its jobs (contract §10 "Receipt"). */

/** The reporter's counts of its events. */
export const countFields = {
  produced: { type: int, public: 'shown' },
  accepted: { type: int, public: 'shown' },
  duplicate: { type: int, public: 'shown' },
  spilled: { type: int, public: 'shown' },
  dropped: { type: int, public: 'shown' },
  rejected: { type: int, means: 'Refused by the service', public: 'shown' },
} as const satisfies Fields
const counts = nullable(own(shapeOf(countFields)))

/** The events that have arrived from one process that reported a batch. */
export const senderFields = {
  sender: {
    type: nullable(text),
    means: 'The last 12 digits of its event ids; null for events of an unknown process',
    public: 'shown',
  },
  host: { type: nullable(text), public: 'empty' },
  stored: { type: int, public: 'shown' },
  /** Without rejected events that were stored since. */
  reported: { type: counts, means: 'Its latest counts; null if it sent none', public: 'shown' },
  final: {
    type: flag,
    means: 'Whether these are the counts at its end; otherwise more events may have followed',
    public: 'shown',
  },
  missing: { type: nullable(int), public: 'shown' },
} as const satisfies Fields

const range = z.tuple([z.number(), z.number()])

export const deliveryFields = {
  batch_id: { type: text, graphql: null, public: 'shown' },
  state: {
    type: word(['open', 'complete', 'incomplete', 'unknown']),
    means:
      'open while the batch runs; then complete, incomplete, or unknown if a process ended without sending its counts',
    public: 'shown',
  },
  stored: { type: int, means: 'Stored events of the batch, each counted once', public: 'shown' },
  reported: {
    type: counts,
    means: 'Sum of the counts of its processes; null until every process has sent its counts',
    public: 'shown',
  },
  missing: {
    type: nullable(int),
    means: 'Pending events: produced, but not dropped, rejected or stored',
    public: 'shown',
  },
  missing_epochs: {
    type: float,
    means: 'Missing epochs, judging by the regular steps of their jobs',
    public: 'shown',
  },
  gaps: {
    type: jsonOf(z.array(z.object({ job_id: z.string(), ranges: z.array(range) }))),
    means: 'Ranges of missing epochs (first and last), of the first 20 jobs with gaps',
    public: 'shown',
  },
  senders: {
    type: own(z.array(shapeOf(senderFields))),
    means: 'Processes that reported the batch, at most 100; those with pending events first',
    public: 'shown',
  },
} as const satisfies Fields

/** The epochs that have arrived of one job. Epochs have numbers, so gaps between them are known. */
export const jobDeliveryFields = {
  job_id: { type: id, public: 'shown' },
  status: { type: text, public: 'shown' },
  epochs: { type: int, means: 'Stored epochs', public: 'shown' },
  first_epoch: { type: nullable(step), public: 'shown' },
  last_epoch: { type: nullable(step), public: 'shown' },
  said_epochs: {
    type: nullable({ ...float, shape: z.int() }),
    means: '`train_epochs` of its end event; null if absent',
    public: 'shown',
  },
  every: { type: nullable(float), means: 'The usual step between its epochs', public: 'shown' },
  missing: { type: float, means: 'Missing epochs, judging by its regular steps', public: 'shown' },
  gaps: {
    type: jsonOf(z.array(range)),
    means: 'The missing ranges, first and last epoch of each; at most 50',
    public: 'shown',
  },
} as const satisfies Fields

export type Delivery = ViewOf<typeof countFields>
export type SenderDelivery = ViewOf<typeof senderFields>
export type DeliveryView = ViewOf<typeof deliveryFields>
export interface JobDelivery extends ViewOf<typeof jobDeliveryFields> {
  key: number
  /** Whether its pace is steady enough to count the missing epochs as lost. */
  steady: boolean
}
