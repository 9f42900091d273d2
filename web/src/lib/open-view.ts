import type { SavedView } from './api/views.ts'
import { takeColours } from './charts/colours.ts'

/** The link of a saved view. Also applies its colors in this browser. */
export function openView({ path, colors }: Pick<SavedView, 'path' | 'colors'>): { href: string } {
  takeColours(colors)
  return { href: path }
}
