import { useId, useState } from 'react'
import { Button, inputLook } from '../../ui/controls.tsx'

interface Addresses {
  label: string
  value: readonly string[]
  onChange: (emails: string[]) => void
  /** Suggestions while typing. */
  known: readonly string[]
  disabled?: boolean
}

/** An editable list of email addresses. */
export function Emails(props: Addresses) {
  const { label, value, onChange, disabled = false } = props
  return (
    <div className="flex flex-col gap-1.5">
      {value.length > 0 && (
        <ul aria-label={label} className="flex flex-wrap gap-1.5">
          {value.map((email) => (
            <Address
              key={email}
              email={email}
              disabled={disabled}
              onRemove={() => onChange(value.filter((one) => one !== email))}
            />
          ))}
        </ul>
      )}
      <NewAddress {...props} />
    </div>
  )
}

/** Adds an address, if it is one. */
function NewAddress({ label, value, onChange, known, disabled = false }: Addresses) {
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
    <>
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
    </>
  )
}

function Address(props: { email: string; disabled: boolean; onRemove: () => void }) {
  return (
    <li className="flex min-w-0 items-center gap-1 rounded-full border border-line bg-surface pl-2 text-xs">
      <span className="truncate">{props.email}</span>
      <button
        type="button"
        aria-label={`Remove ${props.email}`}
        disabled={props.disabled}
        className="rounded-full px-1.5 py-0.5 text-muted hover:text-ink"
        onClick={props.onRemove}
      >
        ×
      </button>
    </li>
  )
}
