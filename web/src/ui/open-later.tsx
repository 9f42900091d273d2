import { type ButtonHTMLAttributes, type ComponentType, useState } from 'react'
import { tell } from './toasts.tsx'

/**
 * A button whose menu is code of its own: loaded once the button is pointed at or focused, opened once it is pressed.
 * From then on the menu, which shows the same button and begins open, stands in its place.
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
  const [Menu, setMenu] = useState<ComponentType<Props>>()
  const open = (): void => {
    load().then(
      (menu) => setMenu(() => menu),
      () => tell('This menu could not be loaded. Load the page anew.', { bad: true }),
    )
  }
  if (Menu !== undefined) return <Menu {...given} />
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
