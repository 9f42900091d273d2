import { z } from 'zod'
import {
  type Fields,
  flag,
  id,
  instant,
  int,
  jsonOf,
  nullable,
  number,
  own,
  step,
  text,
  type ViewOf,
} from '../field.ts'
import { JOB_STATES } from '../jobs/index.ts'

/** The fields of an attempt of a job (contract §4). None is stored: attempts are read from the events. */
export const attemptFields = {
  n: { type: int, means: 'Number of the attempt in its batch, starting at 1', public: 'shown' },
  batch_id: {
    type: id,
    means: 'Set if the attempt belongs to another batch: a rerun of this one, or the batch that it reran',
    public: 'shown',
  },
  started_at: { type: instant, public: 'shown' },
  ended_at: {
    type: nullable(instant),
    means: 'Null while it runs, or if its end was not reported',
    public: 'shown',
  },
  status: {
    type: own(z.enum([...JOB_STATES, 'superseded'])),
    means: '`superseded`: the next attempt of the batch started before this one reported its end',
    public: 'shown',
  },
  failure_reason: { type: nullable(text), public: 'scrubbed' },
  epochs: { type: int, means: 'Number of distinct epochs that it reported', public: 'shown' },
  first_epoch: { type: nullable(step), public: 'shown' },
  last_epoch: { type: nullable(step), public: 'shown' },
  superseded_epochs: {
    type: int,
    means: 'Epochs that a later attempt of the batch reported again',
    public: 'shown',
  },
  superseded_ranges: {
    type: jsonOf(z.array(z.tuple([z.int(), z.int()]))),
    means: 'Their ranges, first and last epoch of each; at most 20',
    public: 'shown',
  },
  elapsed_s: {
    type: nullable(number),
    means: 'Seconds; "NaN" or "Infinity" if reported as such; null without events after its start',
    public: 'shown',
  },
  complete: {
    type: flag,
    means: 'False if retention purged its events: only its epochs and its failure reason are left',
    public: 'shown',
  },
} as const satisfies Fields

/** An attempt in the API. */
export type Attempt = ViewOf<typeof attemptFields>
