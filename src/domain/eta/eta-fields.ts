import { z } from 'zod'
import { type Fields, float, instant, int, nullable, type ViewOf, word } from '../field.ts'

const seconds = nullable({ ...float, shape: z.number().min(0) })

/** An estimate (contract §4); without one all null, but for a basis that says why. */
export const etaFields = {
  eta_s: {
    type: seconds,
    means: 'Seconds until it is done; null while there is too little data',
    public: 'shown',
  },
  low_s: {
    type: seconds,
    means: 'The 10th percentile: it takes longer in nine of ten cases',
    public: 'shown',
  },
  high_s: {
    type: seconds,
    means: 'The 90th percentile: it takes longer in one of ten cases',
    public: 'shown',
  },
  eta_at: { type: nullable(instant), public: 'shown' },
  n_samples: {
    type: int,
    means: 'Number of durations of epochs and jobs that the estimate uses',
    public: 'shown',
  },
  basis: {
    type: nullable(word(['epochs', 'jobs', 'epochs+jobs', 'unknown_length'])),
    means:
      'epochs, jobs or epochs+jobs; unknown_length: there is no estimate, because nothing says how long a running job is',
    public: 'shown',
  },
} as const satisfies Fields

export type ShownEta = ViewOf<typeof etaFields>
