import { useMutation } from '@tanstack/react-query'
import { type BatchEdit, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { Button, Field, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'

export function EditBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const save = useMutation({
    mutationFn: (body: BatchEdit) => changeBatch(batch.id, body),
    onSuccess: (changed) => {
      batchStore.put([changed])
      onClose()
    },
  })
  return (
    <Dialog title="Edit the batch" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          const tags = String(form.get('tags'))
            .split(',')
            .map((tag) => tag.trim())
            .filter(Boolean)
          const label = (name: string): string | null => String(form.get(name)).trim() || null
          const body: BatchEdit = {
            name: label('name'),
            group: label('group'),
            tags: [...new Set(tags)],
            notes: String(form.get('notes')),
          }
          // Only what was changed: the reporter no longer sets what a person wrote.
          if (body.name === batch.name) delete body.name
          if (body.group === batch.group) delete body.group
          if (body.notes === batch.notes) delete body.notes
          if (body.tags?.join('\n') === batch.tags.join('\n')) delete body.tags
          if (Object.keys(body).length === 0) return onClose()
          save.mutate(body)
        }}
      >
        <Field
          label="Name"
          name="name"
          maxLength={256}
          placeholder={batch.id}
          defaultValue={batch.name ?? ''}
          autoFocus
        />
        <Field label="Group" name="group" maxLength={256} defaultValue={batch.group ?? ''} />
        <Field label="Tags, separated by commas" name="tags" defaultValue={batch.tags.join(', ')} />
        <label className="flex flex-col gap-1">
          <span className="text-muted">Notes</span>
          <textarea name="notes" rows={6} defaultValue={batch.notes} className={`${inputLook} h-auto py-1`} />
        </label>
        {save.error && <Failure>{errorText(save.error)}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="primary" type="submit" disabled={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
