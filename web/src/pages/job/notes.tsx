import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import type { Job } from '../../lib/api/batches.ts'
import { changeJob } from '../../lib/api/find-jobs.ts'
import { errorText } from '../../lib/api/request.ts'
import { useBatch } from '../../lib/queries.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Markdown } from '../../ui/markdown.tsx'
import { NotesField } from '../../ui/notes-field.tsx'
import { Failure } from '../../ui/notice.tsx'

/** The notes of the job, with a form for users who may edit them. */
export function JobNotes({ job }: { job: Job }) {
  const { jobs } = useBatchContext()
  const batch = useBatch(job.batch_id)
  const [open, setOpen] = useState(false)
  const save = useMutation({
    mutationFn: (notes: string) => changeJob(job.key, { notes }),
    onSuccess: (changed) => {
      jobs.put([changed])
      setOpen(false)
    },
  })
  const mayEdit = batch?.can?.edit === true
  if (!job.notes && !mayEdit) return null
  const edit = mayEdit && (
    <Button look={job.notes ? 'quiet' : 'plain'} aria-haspopup="dialog" onClick={() => setOpen(true)}>
      {job.notes ? 'Edit notes' : 'Add notes'}
    </Button>
  )
  return (
    <>
      {job.notes ? (
        <section aria-label="Notes" className="flex items-start gap-3 px-4">
          <div className="max-h-64 min-w-0 overflow-y-auto">
            <Markdown text={job.notes} />
          </div>
          {edit}
        </section>
      ) : (
        edit
      )}
      {open && (
        <Dialog title={`Notes on ${job.id}`} size="wide" onClose={() => setOpen(false)}>
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault()
              save.mutate(String(new FormData(event.currentTarget).get('notes')))
            }}
          >
            <NotesField notes={job.notes} />
            {save.error && <Failure>{errorText(save.error)}</Failure>}
            <div className="flex justify-end gap-2">
              <Button onClick={() => setOpen(false)}>Cancel</Button>
              <Button look="primary" type="submit" disabled={save.isPending}>
                Save
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
