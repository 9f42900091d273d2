import { Ellipsis } from 'lucide-react'
import { DropdownMenu, Popover } from 'radix-ui'
import { type FormEvent, useState } from 'react'
import { Button, buttonLook, inputLook } from '../ui/controls.tsx'

const entry = 'cursor-pointer rounded px-2 py-1 outline-none data-highlighted:bg-hover'
const box = 'z-30 rounded-md border border-line bg-raised p-1 shadow-lg'

/** What can be done with one chart. */
export function ChartMenu(props: {
  name: string
  container: HTMLElement | undefined
  kept: boolean
  onKeep: (() => void) | undefined
  onPicture: () => void
  onDrawing: () => void
  onCsv: () => void
}) {
  const { name } = props
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className={`${buttonLook('quiet')} h-5 px-1`} aria-label={`Menu of ${name}`}>
        <Ellipsis className="size-4" aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={props.container}>
        <DropdownMenu.Content align="end" className={box}>
          {props.onKeep && (
            <DropdownMenu.Item className={entry} onSelect={props.onKeep}>
              {props.kept ? 'Unpin' : 'Pin to top'}
            </DropdownMenu.Item>
          )}
          <DropdownMenu.Item className={entry} onSelect={props.onPicture}>
            Save as PNG
          </DropdownMenu.Item>
          <DropdownMenu.Item className={entry} onSelect={props.onDrawing}>
            Save as SVG
          </DropdownMenu.Item>
          <DropdownMenu.Item className={entry} onSelect={props.onCsv}>
            Save as CSV
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}

/** The range of one y-axis, typed. */
export function YRange(props: {
  name: string
  container: HTMLElement | undefined
  range: readonly [number, number] | undefined
  onRange: (range: [number, number] | undefined) => void
}) {
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger
        className={`${buttonLook('quiet')} h-5 px-1 text-xs ${props.range ? 'text-accent!' : ''}`}
      >
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
      </Popover.Trigger>
      <Popover.Portal container={props.container}>
        <Popover.Content align="end" aria-label={`Range of ${props.name}`} className={`${box} w-56 p-3`}>
          <RangeForm
            label={`Values of ${props.name}`}
            range={props.range}
            onRange={(range) => {
              props.onRange(range)
              setOpen(false)
            }}
          />
        </Popover.Content>
      </Popover.Portal>
    </Popover.Root>
  )
}

/** Two numbers, the first the smaller one. */
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
