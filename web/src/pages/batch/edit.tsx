import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { type BatchEdit, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { tagsIn, tagsText } from '../../lib/tags.ts'
import { Button, Field, inputLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Markdown } from '../../ui/markdown.tsx'
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
          // Only what was changed: the reporter no longer sets what a person wrote.
          if (body.name === batch.name) delete body.name
          if (body.group === batch.group) delete body.group
          if (body.notes === batch.notes) delete body.notes
          if (form.get('tags') === tagsText(batch.tags)) delete body.tags
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
        <Field
          label="Tags"
          name="tags"
          defaultValue={tagsText(batch.tags)}
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

/** The text area stays in the form while the preview is shown. */
function NotesField({ notes }: { notes: string }) {
  const id = useId()
  const [text, setText] = useState(notes)
  const [preview, setPreview] = useState(false)
  return (
    <div className="flex flex-col gap-1">
      <div className="flex items-center gap-2">
        <label htmlFor={id} className="text-muted">
          Notes
        </label>
        <span className="flex-1 text-xs text-muted">Markdown</span>
        <Button look={preview ? 'on' : 'quiet'} aria-pressed={preview} onClick={() => setPreview(!preview)}>
          Preview
        </Button>
      </div>
      <textarea
        id={id}
        name="notes"
        rows={10}
        value={text}
        hidden={preview}
        onChange={(event) => setText(event.target.value)}
        className={`${inputLook} h-auto py-1 font-mono`}
      />
      {preview && (
        <section
          aria-label="Preview of the notes"
          className="max-h-72 min-h-24 overflow-y-auto rounded-md border border-line p-2"
        >
          {text.trim() === '' ? <p className="text-muted">No notes.</p> : <Markdown text={text} />}
        </section>
      )}
    </div>
  )
}
