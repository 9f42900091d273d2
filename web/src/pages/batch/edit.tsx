import { useMutation } from '@tanstack/react-query'
import { changeBatch } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { Button, Field, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'

export function EditBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const save = useMutation({
    mutationFn: (body: { tags: string[]; notes: string }) => changeBatch(batch.id, body),
    onSuccess: (changed) => {
      batchStore.put([changed])
      onClose()
    },
  })
  return (
    <Dialog title="Tags and notes" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          const tags = String(form.get('tags'))
            .split(',')
            .map((tag) => tag.trim())
            .filter(Boolean)
          save.mutate({ tags: [...new Set(tags)], notes: String(form.get('notes')) })
        }}
      >
        <Field label="Tags, separated by commas" name="tags" defaultValue={batch.tags.join(', ')} autoFocus />
        <label className="flex flex-col gap-1">
          <span className="text-muted">Notes</span>
          <textarea name="notes" rows={6} defaultValue={batch.notes} className={`${inputLook} h-auto py-1`} />
        </label>
        {save.error && <Failure>{sayWhy(save.error)}</Failure>}
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
