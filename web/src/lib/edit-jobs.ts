import type { Job } from './api/batches.ts'
import { changeJob } from './api/find-jobs.ts'
import { editRows, tagEdit } from './edit-rows.ts'
import type { JobStore } from './live/batches.ts'
import type { TagBody, TagChange } from './tags.ts'
import { some } from './words.ts'

/** Changes tags of jobs of a batch (`editRows`). */
export const tagJobs = (store: JobStore, ids: readonly string[], change: TagChange): Promise<void> =>
  editRows<Job, TagBody>(
    {
      get: store.get,
      put: (job) => store.put([job]),
      save: (job, body) => changeJob(job.key, body),
      some: (n) => some(n, 'job'),
    },
    ids,
    'Tags',
    (job) => tagEdit(job, change),
  )
