import type { Batch, Job } from '../../lib/api/types.ts'
import { duration, number } from '../../lib/words.ts'

const said = (value: unknown): string =>
  value === null || value === undefined
    ? ''
    : typeof value === 'number'
      ? number(value)
      : typeof value === 'string'
        ? value
        : JSON.stringify(value)

/** What was given to the batches and their jobs, and differs: its name, and one text a batch. */
export function factsOf(batches: readonly Batch[], jobs: readonly (readonly Job[])[]): [string, string[]][] {
  const facts = batches.map((batch, i) => {
    const mine = jobs[i] ?? []
    const all = new Map<string, string>([
      ['command', said(batch.command)],
      ['commit', said(batch.commit)],
      ['host', said(batch.host)],
      ['owner', batch.owner?.name ?? ''],
      ['elapsed', duration(batch.elapsed_s)],
      ['tags', batch.tags.join(', ')],
    ])
    for (const [name, value] of Object.entries(batch.env_snapshot ?? {}))
      all.set(`environment ${name}`, said(value))
    const values = new Map<string, Set<string>>()
    for (const job of mine) {
      for (const [name, value] of Object.entries({ model: job.model, dataset: job.dataset, ...job.params })) {
        const text = said(value)
        if (text !== '') values.set(name, (values.get(name) ?? new Set()).add(text))
      }
    }
    for (const [name, set] of values) all.set(`parameter ${name}`, [...set].sort().join(', '))
    return all
  })
  const names = [...new Set(facts.flatMap((all) => [...all.keys()]))]
  return names.flatMap((name): [string, string[]][] => {
    const row = facts.map((all) => all.get(name) ?? '')
    return new Set(row).size > 1 ? [[name, row]] : []
  })
}
