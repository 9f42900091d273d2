import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { tagJobs } from '../../lib/edit-jobs.ts'
import { useBatch } from '../../lib/queries.ts'
import { Button } from '../../ui/controls.tsx'
import { TagDialog } from '../../ui/tag-dialog.tsx'

/** A form for the tags of the job, for users who may edit them. */
export function TagJob({ job }: { job: Job }) {
  const { jobs } = useBatchContext()
  const [open, setOpen] = useState(false)
  if (useBatch(job.batch_id)?.can?.edit !== true) return null
  return (
    <>
      <Button aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Tag
      </Button>
      {open && (
        <TagDialog
          title={`Tags of ${job.id}`}
          tags={[job.tags]}
          onChange={(change) => void tagJobs(jobs, [job.id], change)}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  )
}
