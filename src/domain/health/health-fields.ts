import { z } from 'zod'
import { type Fields, flag, float, ids, instant, nullable, text, texts, type ViewOf, word } from '../field.ts'

const seconds = { ...float, shape: z.number().min(0) }

/** The health of a batch (specification §3.1, §3.2; contract §4). */
export const healthFields = {
  status: { type: text, public: 'shown' },
  stalled: { type: flag, public: 'shown' },
  liveness: {
    type: nullable(word(['running', 'stalled', 'disconnected', 'dead'])),
    means:
      'running, stalled, disconnected or dead, judging by its process, its events and the pace of its epochs; null once it has ended',
    public: 'shown',
  },
  last_seen_at: { type: instant, public: 'shown' },
  silent_s: { type: seconds, public: 'shown' },
  threshold_s: { type: seconds, public: 'shown' },
  idle_jobs: { type: ids, means: 'Ids of jobs', public: 'shown' },
  reasons: {
    type: texts,
    means: 'One sentence for each finding, and one if the evaluation is pending',
    public: 'shown',
  },
} as const satisfies Fields

export type Health = ViewOf<typeof healthFields>
