import { useMutation } from '@tanstack/react-query'
import type { InputHTMLAttributes } from 'react'
import { type Batch, type BatchEdit, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { tagBody, tagsChanged, tagsIn, tagsText } from '../../lib/tags.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { NotesField } from '../../ui/notes-field.tsx'
import { Failure } from '../../ui/notice.tsx'
import { useFollowed } from '../../ui/use-followed.ts'

/** Name, group, tags and notes. While the form is open they follow what is stored, and only what the user changed is sent. */
export function EditBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const name = useFollowed(batch.name ?? '')
  const group = useFollowed(batch.group ?? '')
  const tags = useFollowed(tagsText(batch.tags))
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
          const label = (text: string): string | null => text.trim() || null
          const notes = String(form.get('notes'))
          // The reporter can no longer set a field that a user has edited.
          const body: BatchEdit = {
            ...(label(name.text) !== batch.name && { name: label(name.text) }),
            ...(label(group.text) !== batch.group && { group: label(group.text) }),
            ...(tags.over !== null && tagBody(tagsChanged(tagsIn(tags.over), tagsIn(tags.text)))),
            ...(notes !== batch.notes && { notes }),
          }
          if (Object.keys(body).length === 0) return onClose()
          save.mutate(body)
        }}
      >
        <Followed
          label="Name"
          maxLength={256}
          placeholder={batch.id}
          field={name}
          stored={batch.name ?? ''}
          autoFocus
        />
        <Followed label="Group" maxLength={256} field={group} stored={batch.group ?? ''} />
        <Field
          label="Tags"
          value={tags.text}
          onChange={(event) => tags.onType(event.target.value)}
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

/** A field that warns when what is stored was changed elsewhere since the user began to type. */
function Followed({
  field,
  stored,
  ...rest
}: { label: string; field: ReturnType<typeof useFollowed>; stored: string } & Omit<
  InputHTMLAttributes<HTMLInputElement>,
  'value' | 'onChange'
>) {
  return (
    <div className="flex flex-col gap-1">
      <Field {...rest} value={field.text} onChange={(event) => field.onType(event.target.value)} />
      {field.isBehind && (
        <div
          role="alert"
          className="flex flex-wrap items-center gap-x-3 gap-y-1 rounded-md bg-amber-soft px-2 py-1.5 text-amber"
        >
          <p>
            {stored === ''
              ? 'This was removed elsewhere meanwhile. Saving sets it again.'
              : `This was changed elsewhere meanwhile, to “${stored}”. Saving replaces that.`}
          </p>
          <Button onClick={field.discard}>Discard mine</Button>
        </div>
      )}
    </div>
  )
}
