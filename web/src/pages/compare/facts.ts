import type { Batch, Job } from '../../lib/api/types.ts'
import { environmentOf, factName, isThere, valueText } from '../../lib/batch-facts.ts'
import { flat } from '../../lib/flat.ts'
import { duration, number } from '../../lib/words.ts'

const textOf = (value: unknown): string =>
  typeof value === 'number' ? number(value) : isThere(value) ? valueText(value) : ''

/** What was given to the batches and their jobs, and differs: its name, and one text a batch. */
export function factsOf(batches: readonly Batch[], jobs: readonly (readonly Job[])[]): [string, string[]][] {
  const facts = batches.map((batch, i) => {
    const all = new Map<string, string>()
    for (const [name, value] of Object.entries(environmentOf(batch))) all.set(factName(name), textOf(value))
    all.set('owner', batch.owner?.name ?? '')
    all.set('elapsed', duration(batch.elapsed_s))
    all.set('tags', batch.tags.join(', '))
    for (const [name, value] of Object.entries(flat(batch.config ?? {})))
      all.set(`configuration ${name}`, textOf(value))
    const values = new Map<string, Set<string>>()
    for (const { model, dataset, params } of jobs[i] ?? []) {
      for (const [name, value] of Object.entries({ model, dataset, ...flat(params) })) {
        const text = textOf(value)
        if (text !== '') values.set(name, (values.get(name) ?? new Set()).add(text))
      }
    }
    for (const [name, texts] of values) all.set(`parameter ${name}`, [...texts].sort().join(', '))
    return all
  })
  const names = [...new Set(facts.flatMap((all) => [...all.keys()]))]
  return names.flatMap((name): [string, string[]][] => {
    const row = facts.map((all) => all.get(name) ?? '')
    return new Set(row).size > 1 ? [[name, row]] : []
  })
}
