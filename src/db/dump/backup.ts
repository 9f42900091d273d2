import type { Client } from 'pg'
import { migrationScripts } from '../migrate.ts'
import { migrationsOf, withConnection } from './connection.ts'
import { copyOut } from './copy.ts'
import { copyOutStatement, createDump, type DumpedObject, type DumpHeader } from './file.ts'
import { beginSnapshot } from './snapshot.ts'
import { schemaObjectsOf, sequencesOf, storedTables } from './tables.ts'

/**
 * Tables that describe the current state of the service and are not saved: the change log (a client that connects to a
 * restored database with an old cursor gets a reset), and which servers and cron tasks have been
 * running since when.
 */
const NOT_SAVED = new Set(['changes', 'servers', 'reachable', 'cron_runs'])

export interface BackupOptions {
  url: string
  /** The folder with the migrations of this release. */
  migrations: string
  file: string
  now: Date
  /** Encrypts the file if set. */
  passphrase?: string | undefined
  /** Called from time to time with the progress. */
  progress: (rows: number, bytes: number) => void
  signal?: AbortSignal
  /** Reads the objects of archived batches from their locations; without it, the file does not contain them. */
  objects?: ((locations: readonly string[]) => AsyncIterable<DumpedObject>) | undefined
}

/**
 * Writes a consistent snapshot of all data into one file while servers keep running. Tables of graphile-worker (queued
 * mail) are omitted. Memory use is constant. See docs/operations.md "Backup and restore".
 * @returns the number of rows, of bytes before compression, and of archived batches
 * @throws Error in a sentence, when there is nothing to save, the file exists, or the database is newer than the
 * release
 */
export function backup(options: BackupOptions): Promise<{ rows: number; bytes: number; archived: number }> {
  const { url, file, signal, objects } = options
  return withConnection({ url, name: 'backup', shared: true, signal }, async (client) => {
    const known = await migrationScripts(options.migrations)
    const applied = await migrationsOf(client)
    if (applied === undefined) throw new Error('there is no database of this service to back up')
    const unknown = applied.filter((name) => !known.some((one) => one.name === name))
    if (unknown.length > 0)
      throw new Error(
        `the database is newer than this release: it has ${unknown.join(', ')}. Back it up with the release that wrote it`,
      )
    const made = schemaObjectsOf(known.map(({ script }) => script))
    // Everything below reads one snapshot. Sequences are not transactional: their values cover all rows of the
    // snapshot.
    await beginSnapshot(client, url)
    const tables = (await storedTables(client, made.tables)).filter(({ name }) => !NOT_SAVED.has(name))
    const sequences = await sequencesOf(client, made)
    const { rows: seq } = await client.query<{ last: string | null }>(
      '/* backup.changes_seq */ select max(seq)::text as last from changes',
    )
    const locations = tables.some(({ name }) => name === 'cold_batches') ? await archiveOf(client) : []
    const withObjects = objects !== undefined && locations.length > 0
    const header: DumpHeader = {
      format: withObjects ? 2 : 1,
      createdAt: options.now.toISOString(),
      migrations: applied,
      tables,
      sequences,
      changesSeq: Number(seq[0]?.last ?? 0),
    }
    const dump = await createDump(file, header, options.progress, options.passphrase)
    try {
      for (const table of tables) await dump.table(table, copyOut(client, copyOutStatement(table)))
      await client.query('/* backup.end */ commit')
      if (withObjects) await dump.objects(objects(locations))
      return { ...(await dump.finish()), archived: locations.length }
    } catch (error) {
      await dump.abandon()
      throw error
    }
  })
}

/** Where the batches are whose rows are in the archive. */
async function archiveOf(client: Client): Promise<string[]> {
  const { rows } = await client.query<{ location: string }>(
    `/* backup.archived */ select location from cold_batches where state = 'cold' order by batch_key`,
  )
  return rows.map(({ location }) => location)
}
