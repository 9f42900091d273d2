import type { ButtonHTMLAttributes, ComponentType } from 'react'
import { useLater } from './use-later.ts'

/**
 * A button whose menu is loaded when the button is hovered or focused, and opened when it is pressed. From then on the
 * menu component replaces it, which renders the same button and is initially open.
 */
export function OpenLater<Props extends object>({
  load,
  given,
  ...button
}: {
  /** Returns the same promise at every call. */
  load: () => Promise<ComponentType<Props>>
  given: Props
} & ButtonHTMLAttributes<HTMLButtonElement>) {
  const { Part: Menu, open } = useLater(load, 'This menu could not be loaded. Reload.')
  if (Menu !== null) return <Menu {...given} />
  const soon = (): void => void load().catch(() => {})
  return (
    <button
      type="button"
      aria-haspopup="menu"
      aria-expanded="false"
      onPointerEnter={soon}
      onFocus={soon}
      onClick={open}
      onKeyDown={(event) => {
        if (event.key !== 'ArrowDown') return
        event.preventDefault()
        open()
      }}
      {...button}
    />
  )
}
