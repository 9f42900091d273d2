import type { Config } from '../config.ts'
import type { Sql } from '../db/sql.ts'
import { compareStore } from '../domain/files/index.ts'
import { openStore } from '../storage/index.ts'
import { messageOf } from '../thrown.ts'
import { findingsIn } from './database.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

/** How many objects one finding names. */
const NAMED = 5

/** Checks that the store of files can be used, and that it has every content that the database names. */
export const checkFiles = (config: Config): AsyncGenerator<Finding> =>
  findingsIn(config, (sql) => examineFiles(sql, config))

async function examineFiles(sql: Sql, { files }: Config): Promise<Finding[]> {
  try {
    const store = await openStore(files)
    try {
      await store.checkAccess()
      const { objects, missing, unknown } = await compareStore(sql, store)
      const found: Finding[] = []
      if (missing.length > 0) {
        const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : ''
        found.push(
          failure(
            'files',
            `the store lacks ${missing.length} of ${objects} contents: ${missing.slice(0, NAMED).join(', ')}${more}`,
            'Put them back from a copy (svc backup --files), or check SVC_FILES.',
          ),
        )
      }
      if (unknown > 0) {
        found.push(
          warning(
            'files',
            `${unknown} objects in the store belong to nothing in the database`,
            'They remain after a backup was restored. Keep them until the database is right, then delete them.',
          ),
        )
      }
      return found.length > 0 ? found : [ok('files', `${objects} contents, all in the store`)]
    } finally {
      store.close()
    }
  } catch (error) {
    const text = `the store of files cannot be used: ${messageOf(error)}`
    return [failure('files', text, 'See SVC_FILES; for S3 also SVC_ARCHIVE_S3_….')]
  }
}
