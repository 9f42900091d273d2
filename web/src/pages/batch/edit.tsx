import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { type BatchEdit, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { tagsIn, tagsText } from '../../lib/tags.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { NotesField } from '../../ui/notes-field.tsx'
import { Failure } from '../../ui/notice.tsx'

export function EditBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  // The batch may change while the form is open: only what the user changed is sent.
  const [first] = useState(batch)
  const save = useMutation({
    mutationFn: (body: BatchEdit) => changeBatch(batch.id, body),
    onSuccess: (changed) => {
      batchStore.put([changed])
      onClose()
    },
  })
  return (
    <Dialog title="Edit the batch" size="wide" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          const tags = tagsIn(String(form.get('tags')))
          const label = (name: string): string | null => String(form.get(name)).trim() || null
          const body: BatchEdit = {
            name: label('name'),
            group: label('group'),
            tags,
            notes: String(form.get('notes')),
          }
          // Send only changed fields: the reporter can no longer set a field that a user has edited.
          if (body.name === first.name) delete body.name
          if (body.group === first.group) delete body.group
          if (body.notes === batch.notes) delete body.notes
          if (form.get('tags') === tagsText(first.tags)) delete body.tags
          if (Object.keys(body).length === 0) return onClose()
          save.mutate(body)
        }}
      >
        <Field
          label="Name"
          name="name"
          maxLength={256}
          placeholder={batch.id}
          defaultValue={first.name ?? ''}
          autoFocus
        />
        <Field label="Group" name="group" maxLength={256} defaultValue={first.group ?? ''} />
        <Field
          label="Tags"
          name="tags"
          defaultValue={tagsText(first.tags)}
          hint="Separated by spaces or commas; quotation marks around a tag with a space in it."
        />
        <NotesField notes={batch.notes} />
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
