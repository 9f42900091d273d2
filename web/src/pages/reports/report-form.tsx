import { Suspense, useId, useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { Button, Field, inputLook } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { part } from '../../ui/part.tsx'
import { ReportBody } from './report-body.tsx'

const ReportEditor = part(() => import('./report-editor.tsx').then((file) => file.ReportEditor))

const EMBEDS = [
  ['@batch(id)', 'the state of a batch'],
  ['@chart(id, val_loss)', 'live curves of its jobs; without a series its loss'],
  ['@media(id, samples)', 'its images and other media; without a key all'],
  ['@jobs(id)', 'a table of its jobs'],
  ['@sweep(id)', 'its parameters and results'],
  ['@runs(query)', 'the runs of the project that a query finds'],
  ['@view(id)', 'a link to a saved view'],
] as const

/** The title and content of a report: blocks edited in their places, or its text with a preview. */
export function ReportForm(props: {
  /** The slug of the report's project. */
  project: string
  title: string
  body: string
  error: unknown
  saving: boolean
  onSave: (report: { title: string; body: string }) => void
  onCancel: () => void
}) {
  const [body, setBody] = useState(props.body)
  const [isText, setIsText] = useState(false)
  return (
    <form
      className="flex flex-col gap-3"
      onSubmit={(event) => {
        event.preventDefault()
        const title = String(new FormData(event.currentTarget).get('title')).trim()
        if (title !== '') props.onSave({ title, body })
      }}
    >
      <Field label="Title" name="title" defaultValue={props.title} maxLength={128} required autoFocus />
      {/* Above the blocks, whose charts arrive late: below them, Save would move away under the pointer. */}
      <div className="sticky top-0 z-10 flex flex-wrap gap-2 bg-bg py-1">
        <div className="flex flex-1 gap-1" role="group" aria-label="Way to edit">
          <Button look={isText ? 'plain' : 'on'} aria-pressed={!isText} onClick={() => setIsText(false)}>
            Blocks
          </Button>
          <Button look={isText ? 'on' : 'plain'} aria-pressed={isText} onClick={() => setIsText(true)}>
            Markdown
          </Button>
        </div>
        <Button onClick={props.onCancel}>Cancel</Button>
        <Button look="primary" type="submit" disabled={props.saving}>
          Save
        </Button>
      </div>
      {props.error !== null && <Failure>{errorText(props.error)}</Failure>}
      {!isText && (
        <Suspense fallback={<Waiting rows={6} />}>
          <ReportEditor project={props.project} body={body} onBody={setBody} />
        </Suspense>
      )}
      <MarkdownFields project={props.project} body={body} onBody={setBody} isShown={isText} />
    </form>
  )
}

/** The text of a report, how to embed runs in it, and a preview. */
function MarkdownFields(props: {
  project: string
  body: string
  onBody: (body: string) => void
  isShown: boolean
}) {
  const id = useId()
  return (
    <div className="grid gap-4 xl:grid-cols-2" hidden={!props.isShown}>
      <div className="flex flex-col gap-1">
        <label htmlFor={id} className="text-muted">
          Text, in Markdown
        </label>
        <textarea
          id={id}
          rows={24}
          value={props.body}
          onChange={(event) => props.onBody(event.target.value)}
          className={`${inputLook} h-auto py-1 font-mono`}
        />
        <dl className="grid grid-cols-[auto_1fr] gap-x-3 text-xs text-muted">
          {EMBEDS.map(([line, what]) => (
            <div key={line} className="contents">
              <dt>
                <code>{line}</code>
              </dt>
              <dd>{what}; alone on a line</dd>
            </div>
          ))}
        </dl>
      </div>
      <section aria-label="Preview" className="min-w-0 rounded-md border border-line p-3">
        {props.isShown && <ReportBody body={props.body} project={props.project} />}
      </section>
    </div>
  )
}
