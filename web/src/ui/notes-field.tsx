import { useId, useState } from 'react'
import { Button, inputLook } from './controls.tsx'
import { Markdown } from './markdown.tsx'

/** A Markdown field with preview. The text area stays in the form while the preview is shown. */
export function NotesField({ notes }: { notes: string }) {
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
