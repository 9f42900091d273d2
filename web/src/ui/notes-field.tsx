import { useId, useState } from 'react'
import { Button, inputLook } from './controls.tsx'
import { Markdown } from './markdown.tsx'
import { useFollowed } from './use-followed.ts'

/** A Markdown field with preview, over the stored notes (`useFollowed`). The text area stays in the form under the preview. */
export function NotesField({ notes }: { notes: string }) {
  const id = useId()
  const { text, isBehind, onType, discard } = useFollowed(notes)
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
        onChange={(event) => onType(event.target.value)}
        className={`${inputLook} h-auto py-1 font-mono`}
      />
      {isBehind && (
        <div role="alert" className="flex flex-col gap-1.5 rounded-md bg-amber-soft px-2 py-1.5 text-amber">
          <p>These notes were changed elsewhere meanwhile. Saving replaces that text:</p>
          <pre className="max-h-32 overflow-y-auto font-mono text-xs whitespace-pre-wrap text-ink">
            {notes === '' ? 'No notes.' : notes}
          </pre>
          <Button className="self-start" onClick={discard}>
            Discard mine
          </Button>
        </div>
      )}
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
