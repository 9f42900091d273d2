import { type FormEvent, useState } from 'react'
import { Button, buttonLook, inputLook } from '../ui/controls.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'

/** A form for the range of one y-axis. */
export function YRange(props: {
  name: string
  container: HTMLElement | undefined
  range: readonly [number, number] | undefined
  onRange: (range: [number, number] | undefined) => void
}) {
  return (
    <PopoverLater
      label={`Range of ${props.name}`}
      align="end"
      className="w-56 p-3"
      container={props.container}
      trigger={{
        className: `${buttonLook('quiet')} h-5 px-1! text-xs ${props.range ? 'text-accent!' : ''}`,
        children: (
          <>
            {props.range ? (
              `y ${props.range[0]} to ${props.range[1]}`
            ) : (
              <span>
                y<span className="max-sm:sr-only"> range</span>
              </span>
            )}
            <span className="sr-only">
              {props.range ? ', range' : ''} of {props.name}
            </span>
          </>
        ),
      }}
    >
      {(close) => (
        <RangeForm
          label={`Values of ${props.name}`}
          range={props.range}
          onRange={(range) => {
            props.onRange(range)
            close()
          }}
        />
      )}
    </PopoverLater>
  )
}

/** A form for two numbers, the first one smaller. */
export function RangeForm(props: {
  label: string
  range: readonly [number, number] | undefined
  onRange: (range: [number, number] | undefined) => void
}) {
  const [wrong, setWrong] = useState('')
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const typed = new FormData(event.currentTarget)
    const [from, to] = ['from', 'to'].map((name) => String(typed.get(name)).trim())
    const range: [number, number] = [Number(from), Number(to)]
    if (from === '' || to === '' || !range.every(Number.isFinite)) setWrong('Type two numbers.')
    else if (range[0] >= range[1]) setWrong('The first must be the smaller one.')
    else props.onRange(range)
  }
  return (
    <form className="flex flex-col gap-2" onSubmit={submit} aria-label={props.label}>
      <div className="flex items-center gap-1.5">
        {(['from', 'to'] as const).map((name, i) => (
          <input
            key={name}
            name={name}
            aria-label={`${props.label}, ${name}`}
            placeholder={name}
            inputMode="decimal"
            autoComplete="off"
            className={inputLook}
            defaultValue={props.range?.[i]}
          />
        ))}
      </div>
      {wrong && (
        <p role="alert" className="text-xs text-failed">
          {wrong}
        </p>
      )}
      <div className="flex gap-2">
        <Button type="submit" look="primary">
          Show
        </Button>
        {props.range && <Button onClick={() => props.onRange(undefined)}>Show all</Button>}
      </div>
    </form>
  )
}
