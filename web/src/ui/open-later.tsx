import type { ButtonHTMLAttributes, ComponentType } from 'react'
import { useLater } from './use-later.ts'

/**
 * A button whose menu is code of its own: loaded once the button is pointed at or focused, opened once it is pressed.
 * From then on it is replaced by the menu, which shows the same button and begins open.
 */
export function OpenLater<Props extends object>({
  load,
  given,
  ...button
}: {
  /** The same promise at every call. */
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
