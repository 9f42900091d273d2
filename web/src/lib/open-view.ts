import type { SavedView } from './api/views.ts'
import { takeColours } from './charts/colours.ts'

/** Where a view leads. Its colors count from now on, in this browser. */
export function openView({ path, colors }: Pick<SavedView, 'path' | 'colors'>): { href: string } {
  takeColours(colors)
  return { href: path }
}
