import { type ChartLayout, readLayout } from './layout.ts'

/** The last arrangement of a project's charts, kept in this browser like its columns. */

const keyOf = (project: string): string => `charts of ${project}`

export function keptLayout(project: string | undefined): ChartLayout | undefined {
  if (project === undefined) return undefined
  try {
    return readLayout(JSON.parse(localStorage.getItem(keyOf(project)) ?? 'null'))
  } catch {
    return undefined
  }
}

export function keepLayout(project: string | undefined, layout: ChartLayout | undefined): void {
  if (project === undefined) return
  if (layout === undefined) localStorage.removeItem(keyOf(project))
  else localStorage.setItem(keyOf(project), JSON.stringify(layout))
}
