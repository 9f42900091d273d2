import { useNavigate } from '@tanstack/react-router'
import { useLayoutEffect } from 'react'
import { links } from '../lib/links.ts'
import { useLater } from '../ui/use-later.ts'
import { expectTyping, typeAhead } from './typed-ahead.ts'

const loadKeys = () => import('./keys.tsx').then((file) => file.Keys)

/** Keyboard shortcuts. They find rows and search fields by the attributes data-row and data-search. */
export function Keyboard({ onPalette }: { onPalette: () => void }) {
  const keys = useLater(loadKeys, 'The list of keys could not be loaded: the server cannot be reached.')
  const openKeys = keys.open
  const navigate = useNavigate()
  // A layout effect, because keys must work as soon as the page is visible.
  useLayoutEffect(() => {
    let before = ''
    const press = (event: KeyboardEvent): void => {
      const at = event.target as HTMLElement
      if (
        (event.metaKey || event.ctrlKey) &&
        event.key.toLowerCase() === 'k' &&
        !at.closest('dialog[open]')
      ) {
        event.preventDefault()
        expectTyping()
        onPalette()
        return
      }
      if (event.metaKey || event.ctrlKey || event.altKey || event.defaultPrevented) return
      // The first Escape clears the field, as browsers do; the next one leaves it, so that arrow keys move between rows
      // again.
      if (event.key === 'Escape' && at instanceof HTMLInputElement && at.matches('[data-search]')) {
        if (at.value === '') at.blur()
        return
      }
      if (at.closest('input:not([type=checkbox]), textarea, select, dialog[open], [role=menu]')) return
      if (typeAhead(event.key)) {
        event.preventDefault()
        return
      }
      const typed = before + event.key
      before = event.key === 'g' ? 'g' : ''
      if (typed === 'gh') void navigate(links.home())
      else if (event.key === '?') openKeys()
      else if (event.key === '/') {
        const field = document.querySelector<HTMLInputElement>('[data-search]')
        event.preventDefault()
        if (field === null) {
          onPalette()
          return
        }
        field.focus()
        field.select()
      } else if (event.key === 'j' || event.key === 'k') step(event.key === 'j' ? 1 : -1)
      else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && at.closest('[data-row]')) {
        // Otherwise the table's container would scroll away from the row.
        event.preventDefault()
        step(event.key === 'ArrowDown' ? 1 : -1)
      } else if (event.key === 'f') openChart()
      else if (event.key === 'x' || event.key === 'X') select(event.shiftKey)
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [navigate, onPalette, openKeys])
  return keys.Part && <keys.Part onClose={keys.close} />
}

/** Shows the chart under the pointer in full screen. */
const openChart = (): void =>
  document.querySelector<HTMLElement>('[data-chart]:is(:hover, :focus-within) [data-full-screen]')?.click()

/** Selects the row that has the focus, with `shiftKey` every row from the last one. */
function select(shiftKey: boolean): void {
  const box = document.activeElement?.closest('[data-row]')?.querySelector('input')
  box?.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, shiftKey }))
}

function step(by: number): void {
  const rows = [...document.querySelectorAll<HTMLElement>('[data-row] [data-open]')]
  const now = rows.findIndex((row) => row.closest('[data-row]')?.contains(document.activeElement))
  const next = rows[now < 0 ? 0 : Math.max(0, Math.min(rows.length - 1, now + by))]
  next?.focus()
  next?.scrollIntoView({ block: 'nearest' })
}
