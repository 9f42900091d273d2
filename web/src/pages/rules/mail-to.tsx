import { Emails } from './emails.tsx'

/** The recipients of a rule's mail: the usual ones, or its own. */
export function MailTo(props: {
  usual: string
  own: boolean
  onOwn: (own: boolean) => void
  emails: string[]
  onEmails: (emails: string[]) => void
  known: string[]
}) {
  const { usual, own, onOwn, emails, onEmails, known } = props
  return (
    <fieldset className="flex flex-col gap-1.5">
      <legend className="mb-1 text-muted">Mail goes to</legend>
      <label className="flex items-center gap-1.5">
        <input type="radio" name="to" checked={!own} onChange={() => onOwn(false)} />
        <span>{usual}</span>
      </label>
      <label className="flex items-center gap-1.5">
        <input type="radio" name="to" checked={own} onChange={() => onOwn(true)} />
        <span>only these addresses</span>
      </label>
      {own && (
        <div className="pl-5">
          <Emails label="Recipients of the rule" value={emails} onChange={onEmails} known={known} />
        </div>
      )}
    </fieldset>
  )
}
