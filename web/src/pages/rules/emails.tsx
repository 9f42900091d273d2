import { useId, useState } from 'react'
import { Button, inputLook } from '../../ui/controls.tsx'

/** An editable list of email addresses. */
export function Emails(props: {
  label: string
  value: readonly string[]
  onChange: (emails: string[]) => void
  /** Suggestions while typing. */
  known: readonly string[]
  disabled?: boolean
}) {
  const { label, value, onChange, known, disabled = false } = props
  const id = useId()
  const [text, setText] = useState('')
  const [fault, setFault] = useState('')
  const add = (): void => {
    const email = text.trim()
    if (email === '') return
    if (!/^[^\s@]+@[^\s@]+$/.test(email)) {
      setFault(`“${email}” is no mail address`)
      return
    }
    setFault('')
    setText('')
    if (!value.some((one) => one.toLowerCase() === email.toLowerCase())) onChange([...value, email])
  }
  return (
    <div className="flex flex-col gap-1.5">
      {value.length > 0 && (
        <ul aria-label={label} className="flex flex-wrap gap-1.5">
          {value.map((email) => (
            <li
              key={email}
              className="flex min-w-0 items-center gap-1 rounded-full border border-line bg-surface pl-2 text-xs"
            >
              <span className="truncate">{email}</span>
              <button
                type="button"
                aria-label={`Remove ${email}`}
                disabled={disabled}
                className="rounded-full px-1.5 py-0.5 text-muted hover:text-ink"
                onClick={() => onChange(value.filter((one) => one !== email))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="flex max-w-sm gap-1.5">
        <input
          aria-label={`${label}: another address`}
          type="email"
          list={`${id}-known`}
          placeholder="name@example.org"
          autoComplete="off"
          className={inputLook}
          value={text}
          disabled={disabled}
          aria-invalid={fault !== ''}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            add()
          }}
          // Otherwise a typed address that was not added would be lost silently.
          onBlur={add}
        />
        <datalist id={`${id}-known`}>
          {known
            .filter((email) => !value.includes(email))
            .map((email) => (
              <option key={email} value={email} />
            ))}
        </datalist>
        <Button disabled={disabled} onClick={add}>
          Add
        </Button>
      </div>
      {fault !== '' && (
        <p role="alert" className="text-failed">
          {fault}
        </p>
      )}
    </div>
  )
}
