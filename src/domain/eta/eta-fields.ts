import { z } from 'zod'
import { type Fields, float, instant, int, nullable, type ViewOf, word } from '../field.ts'

const seconds = nullable({ ...float, shape: z.number().min(0) })

/** An estimate (contract §4); without one all null, but for a basis that says why. */
export const etaFields = {
  eta_s: {
    type: seconds,
    means: 'Seconds until it is done; null without an estimate',
    public: 'shown',
  },
  low_s: {
    type: seconds,
    means: '10th percentile of the estimate',
    public: 'shown',
  },
  high_s: {
    type: seconds,
    means: '90th percentile of the estimate',
    public: 'shown',
  },
  eta_at: { type: nullable(instant), public: 'shown' },
  n_samples: {
    type: int,
    means: 'Number of epoch and job durations behind the estimate',
    public: 'shown',
  },
  basis: {
    type: nullable(word(['epochs', 'jobs', 'epochs+jobs', 'unknown_length'])),
    means:
      'What the estimate is based on: epochs, jobs or epochs+jobs. `unknown_length` means that there is no estimate because the length of a running job is unknown',
    public: 'shown',
  },
} as const satisfies Fields

export type ShownEta = ViewOf<typeof etaFields>
