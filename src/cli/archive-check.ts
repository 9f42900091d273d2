import type { Config } from '../config.ts'
import type { Sql } from '../db/sql.ts'
import { archivedBatches, faultOf } from '../domain/cold/index.ts'
import { openStore } from '../storage/index.ts'
import { findingsIn } from './database.ts'
import { type Finding, failure, ok } from './finding.ts'

/** How many batches one finding names. */
const NAMED = 5
const ADVICE =
  'Put back the objects from a copy of the archive; the service looks again at the next read. See docs/operations.md "The archive".'

/**
 * Checks that the archive can be written to, and that every archived batch has an unchanged manifest, and all objects in it
 * with their sizes.
 */
export const checkArchive = (config: Config): AsyncGenerator<Finding> =>
  findingsIn(config, (sql) => examineArchive(sql, config))

async function examineArchive(sql: Sql, { archive }: Config): Promise<Finding[]> {
  const batches = await archivedBatches(sql)
  if (archive === undefined) {
    return batches.length === 0
      ? []
      : [
          failure(
            'archive',
            `${plural(batches.length)} archived, and SVC_ARCHIVE is not set`,
            'Set it again.',
          ),
        ]
  }
  const store = await openStore(archive)
  try {
    const faults: string[] = []
    for (const batch of batches) {
      const fault = batch.problem ?? (await faultOf(store, batch))
      if (fault !== undefined) faults.push(`${batch.project}/${batch.id}: ${fault}`)
    }
    if (faults.length === 0) {
      await store.checkAccess()
      return [ok('archive', `${plural(batches.length)} archived, with every object that belongs to them`)]
    }
    const more = faults.length > NAMED ? ` and ${faults.length - NAMED} more` : ''
    return [failure('archive', `${faults.slice(0, NAMED).join('; ')}${more}`, ADVICE)]
  } catch (error) {
    return [
      failure(
        'archive',
        `the archive cannot be used: ${(error as Error).message || (error as Error).name}`,
        'See SVC_ARCHIVE and the settings after it.',
      ),
    ]
  } finally {
    store.close()
  }
}

const plural = (n: number): string => `${n} ${n === 1 ? 'batch' : 'batches'}`
