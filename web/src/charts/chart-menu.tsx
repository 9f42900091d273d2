import { Ellipsis } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import { buttonLook } from '../ui/controls.tsx'

const entry = 'cursor-pointer rounded px-2 py-1 outline-none data-highlighted:bg-hover'
const box = 'z-30 rounded-md border border-line bg-raised p-1 shadow-lg'

/** The actions of one chart. Loaded when first opened. */
export function ChartMenu(props: {
  name: string
  container: HTMLElement | undefined
  kept: boolean
  onKeep: (() => void) | undefined
  onHide: (() => void) | undefined
  onPicture: () => void
  onDrawing: () => void
  onCsv: () => void
}) {
  const { name } = props
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger className={`${buttonLook('quiet')} h-5 px-1!`} aria-label={`Menu of ${name}`}>
        <Ellipsis className="size-4" aria-hidden="true" />
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal container={props.container}>
        <DropdownMenu.Content align="end" className={box}>
          {props.onKeep && (
            <DropdownMenu.Item className={entry} onSelect={props.onKeep}>
              {props.kept ? 'Unpin' : 'Pin to top'}
            </DropdownMenu.Item>
          )}
          {props.onHide && (
            <DropdownMenu.Item className={entry} onSelect={props.onHide}>
              {name.startsWith('=') ? 'Remove' : 'Hide'}
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
