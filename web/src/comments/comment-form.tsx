import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { Button, inputLook } from '../ui/controls.tsx'
import { Markdown } from '../ui/markdown.tsx'
import { Failure } from '../ui/notice.tsx'
import { useMention } from './use-mention.ts'

/** A field for Markdown that suggests the names of members behind an `@`. */
export function CommentForm(props: {
  label: string
  action: string
  text?: string
  names: readonly string[]
  onSave: (body: string) => Promise<void>
  onCancel?: () => void
}) {
  const { label, action, names, onSave, onCancel } = props
  const id = useId()
  const { field, text, setText, setCaret, suggested, take } = useMention(props.text ?? '', names)
  const [preview, setPreview] = useState(false)
  const save = useMutation({ mutationFn: onSave, onSuccess: () => setText('') })
  const isEmpty = text.trim() === ''
  return (
    <form
      className="flex flex-col gap-1.5"
      onSubmit={(event) => {
        event.preventDefault()
        if (!isEmpty && !save.isPending) save.mutate(text)
      }}
    >
      <label htmlFor={id} className="sr-only">
        {label}
      </label>
      <textarea
        id={id}
        ref={field}
        rows={3}
        maxLength={10_000}
        value={text}
        hidden={preview}
        placeholder={label}
        onChange={(event) => {
          setText(event.target.value)
          setCaret(event.target.selectionStart)
        }}
        onSelect={(event) => setCaret(event.currentTarget.selectionStart)}
        onKeyDown={sendOnCtrlEnter}
        className={`${inputLook} field-sizing-content h-auto max-h-96 min-h-18 py-1`}
      />
      {preview && <Preview text={text} />}
      {suggested.length > 0 && !preview && <Suggested names={suggested} onTake={take} />}
      {save.error && <Failure>{errorText(save.error)}</Failure>}
      <div className="flex flex-wrap items-center gap-2">
        <Button type="submit" look="primary" disabled={isEmpty || save.isPending}>
          {action}
        </Button>
        {onCancel && <Button onClick={onCancel}>Cancel</Button>}
        <Button look={preview ? 'on' : 'quiet'} aria-pressed={preview} onClick={() => setPreview(!preview)}>
          Preview
        </Button>
        <span className="text-xs text-muted">
          Markdown; @ mentions a person<span className="max-sm:hidden"> · Ctrl Enter sends</span>
        </span>
      </div>
    </form>
  )
}

function sendOnCtrlEnter(event: React.KeyboardEvent<HTMLTextAreaElement>): void {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) event.currentTarget.form?.requestSubmit()
}

const Preview = ({ text }: { text: string }) => (
  <section aria-label="Preview of the comment" className="min-h-18 rounded-md border border-line px-2 py-1">
    {text.trim() === '' ? <p className="text-muted">Nothing yet.</p> : <Markdown text={text} />}
  </section>
)

const Suggested = ({ names, onTake }: { names: readonly string[]; onTake: (name: string) => void }) => (
  <ul aria-label="People to mention" className="flex flex-wrap gap-1">
    {names.map((name) => (
      <li key={name}>
        <Button onClick={() => onTake(name)}>@{name}</Button>
      </li>
    ))}
  </ul>
)
