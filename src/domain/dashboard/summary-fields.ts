import { type Fields, float, int, type ViewOf } from '../field.ts'

/** Counts in the projects that the caller may see (contract §4): of batches unless they say jobs. */
export const summaryFields = {
  running: { type: int, means: 'Batches that are running and not stalled', public: 'hidden' },
  completed: { type: int, public: 'hidden' },
  failed: { type: int, public: 'hidden' },
  stopped: { type: int, public: 'hidden' },
  lost: { type: int, means: 'Batches that ended without reporting an end', public: 'hidden' },
  running_jobs: { type: int, public: 'hidden' },
  finished_24h: { type: int, means: 'Batches that completed in the last 24 hours', public: 'hidden' },
  failed_24h: { type: int, public: 'hidden' },
  failed_jobs_24h: { type: int, public: 'hidden' },
  stalled: { type: int, public: 'hidden' },
  idle: { type: int, means: 'Jobs whose GPU is idle', public: 'hidden' },
  gpu_hours: {
    type: float,
    means: 'GPU-hours with a utilisation of 5% or more, over all time',
    public: 'hidden',
  },
  idle_gpu_hours: { type: float, means: 'GPU-hours below 5%', public: 'hidden' },
} as const satisfies Fields

export type Summary = ViewOf<typeof summaryFields>
