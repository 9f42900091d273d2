import { z } from 'zod'
import { isFormula } from '../../query/index.ts'

const given = z.union([z.string(), z.array(z.string())])

/**
 * Names in a query. Ids and keys may contain commas, so there are two parameters, both repeatable: `keys=a,b` means a,
 * b and also the key `a,b`; `key=a,b` means only the key `a,b`.
 */
export const keysQuery = {
  keys: given.optional().describe('Names, separated by commas; a name that contains commas is found too'),
  key: given.optional().describe('One exact name, commas included; repeatable'),
}
export const jobsQuery = {
  jobs: given.optional().describe('Ids of jobs, separated by commas; an id with commas is found too'),
  job: given.optional().describe('One exact job id, commas included; repeatable'),
}

/** The largest number of jobs in one comparison. */
export const MAX_JOBS = 1_000
/** Jobs of any batches. */
export const jobKeysText = z
  .string()
  .regex(/^[1-9]\d{0,14}(,[1-9]\d{0,14})*$/, 'must be keys of jobs, separated by commas')
  .transform((text) => [...new Set(text.split(',').map(Number))])
  .refine((keys) => keys.length <= MAX_JOBS, `must be at most ${MAX_JOBS} jobs`)
  .describe('The `key` of each job, separated by commas; jobs that the caller may not see are left out')

type Given = z.output<typeof given> | undefined

/** @returns the requested names; undefined if none were given, which means all */
export function namesOf(lists: Given, verbatim: Given): string[] | undefined {
  if (lists === undefined && verbatim === undefined) return undefined
  const names = new Set<string>([verbatim ?? []].flat())
  for (const list of [lists ?? []].flat()) {
    names.add(list)
    // The commas of a formula are its own.
    if (isFormula(list)) continue
    for (const name of list.split(',')) names.add(name)
  }
  names.delete('')
  return [...names]
}
