import type { Compared } from '../../charts/compared-jobs.ts'
import type { Batch, Job } from '../../lib/api/batches.ts'
import { environmentOf, factName, isThere, valueText } from '../../lib/batch-facts.ts'
import { batchName } from '../../lib/batch-name.ts'
import { flat } from '../../lib/flat.ts'
import { duration, number } from '../../lib/words.ts'

/** A column of the table of differences: a batch with its jobs, or a single job. */
export interface FactsColumn {
  key: string
  title: string
  batch: Batch
  jobs: readonly Job[]
  /** Set if the column is a single job. */
  job?: Job
}

/** A row of the table: a label, one text per column, and whether the texts differ. */
export interface Fact {
  name: string
  texts: readonly string[]
  differs: boolean
}

/** One column per job if jobs were selected or all are of one batch, otherwise one per batch. */
export function columnsOf(
  batches: readonly Batch[],
  rows: readonly Compared[],
  chosen: boolean,
): FactsColumn[] {
  if (chosen || batches.length === 1)
    return rows.map(({ name, batch, job }) => ({
      key: name,
      title: batches.length === 1 ? job.id : name,
      batch,
      jobs: [job],
      job,
    }))
  return batches.map((batch) => ({
    key: batch.id,
    title: batchName(batch),
    batch,
    jobs: rows.filter((row) => row.batch.id === batch.id).map((row) => row.job),
  }))
}

const textOf = (value: unknown): string =>
  typeof value === 'number' ? number(value) : isThere(value) ? valueText(value) : ''

/** The rows: parameters, configuration, and environment with packages and commit. */
export function factsOf(columns: readonly FactsColumn[]): Fact[] {
  const facts = columns.map(({ batch, jobs, job }) => {
    const all = new Map<string, string>()
    const values = new Map<string, Set<string>>()
    for (const { model, dataset, params } of jobs) {
      for (const [name, value] of Object.entries({ model, dataset, ...flat(params) })) {
        const text = textOf(value)
        if (text !== '') values.set(name, (values.get(name) ?? new Set()).add(text))
      }
    }
    for (const [name, texts] of values) all.set(`parameter ${name}`, [...texts].sort().join(', '))
    for (const [name, value] of Object.entries(flat(batch.config ?? {})))
      all.set(`configuration ${name}`, textOf(value))
    for (const [name, value] of Object.entries(environmentOf(batch))) all.set(factName(name), textOf(value))
    all.set('owner', batch.owner?.name ?? '')
    all.set('elapsed', duration((job ?? batch).elapsed_s))
    all.set('tags', (job ?? batch).tags.join(', '))
    return all
  })
  const names = [...new Set(facts.flatMap((all) => [...all.keys()]))]
  return names.flatMap((name): Fact[] => {
    const texts = facts.map((all) => all.get(name) ?? '')
    const differs = new Set(texts).size > 1
    return differs || texts.some((text) => text !== '') ? [{ name, texts, differs }] : []
  })
}
