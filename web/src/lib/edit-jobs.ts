import { changeJob } from './api/find-jobs.ts'
import type { Job } from './api/types.ts'
import { editRows } from './edit-rows.ts'
import type { JobStore } from './live/batches.ts'
import { type TagChange, withTags } from './tags.ts'
import { some } from './words.ts'

/** Changes tags of jobs of a batch (`editRows`). */
export const tagJobs = (store: JobStore, ids: readonly string[], change: TagChange): Promise<void> =>
  editRows<Job, Pick<Job, 'tags'>>(
    {
      get: store.get,
      put: (job) => store.put([job]),
      save: (job, { tags }) => changeJob(job.key, { tags }),
      some: (n) => some(n, 'job'),
    },
    ids,
    'Tags',
    ({ tags }) => ({ tags: withTags(tags, change) }),
  )
