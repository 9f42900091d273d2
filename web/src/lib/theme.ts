import { useSyncExternalStore } from 'react'

/** The colour scheme: the user's choice, or the system's. */
export type Choice = 'system' | 'light' | 'dark'
export type Theme = 'light' | 'dark'

const KEY = 'theme'
const system = matchMedia('(prefers-color-scheme: dark)')
/** Paper is light. */
const paper = matchMedia('print')
const watchers = new Set<() => void>()
let choice: Choice = read()
/** As the watchers were told: a render between a change of the media and its event must not see another theme than they. */
let shown: Theme = current()

function read(): Choice {
  const kept = localStorage.getItem(KEY)
  return kept === 'light' || kept === 'dark' ? kept : 'system'
}
function apply(): void {
  if (choice === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = choice
  shown = current()
  for (const watcher of watchers) watcher()
}
const watch = (changed: () => void): (() => void) => {
  watchers.add(changed)
  return () => watchers.delete(changed)
}

export function startTheme(): void {
  apply()
  system.addEventListener('change', apply)
  paper.addEventListener('change', apply)
  addEventListener('storage', () => {
    choice = read()
    apply()
  })
}
export function chooseTheme(next: Choice): void {
  choice = next
  if (next === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, next)
  apply()
}
export const useThemeChoice = (): Choice => useSyncExternalStore(watch, () => choice)
export const useTheme = (): Theme => useSyncExternalStore(watch, () => shown)

function current(): Theme {
  if (paper.matches) return 'light'
  return choice === 'system' ? (system.matches ? 'dark' : 'light') : choice
}
