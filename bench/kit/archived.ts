import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { pino } from 'pino'
import type { Sql } from '../../src/db/sql.ts'
import { openStore } from '../../src/storage/index.ts'
import { createArchiver } from '../../src/workers/archiver.ts'
import { rebuildBloatedIndexes } from '../../src/workers/rebuild-indexes.ts'

const NO_S3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined }

/**
 * Moves every batch into an archive in a folder, rebuilds empty indexes, and says what the folder held. The tables are
 * rewritten: rows that stay keep PostgreSQL from giving the room before them back, which the next runs fill.
 */
export async function archiveAll(url: string, sql: Sql): Promise<{ bytes: number; rows: number }> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-archive-'))
  const store = await openStore({ url: pathToFileURL(folder).href, s3: NO_S3 })
  const log = pino({ level: 'error' })
  const archiver = createArchiver({
    url,
    log,
    store: async () => store,
    afterDays: 0,
    kept: () => ({ lines: new Date(0).toISOString(), payloads: null }),
    now: () => new Date(Date.now() + 60_000),
    settleMs: 0,
  })
  try {
    await archiver.round(new AbortController().signal)
    const [archived] = await sql<{ bytes: number; rows: number; warm: number }[]>`/* bench.archived */
      select sum(c.bytes)::float8 bytes, sum(c.n_rows)::float8 "rows",
        (select count(*)::int from batches where cold_at is null) warm from cold_batches c`
    if (archived === undefined || archived.warm > 0) throw new Error('not every batch was archived')
    await sql.unsafe('/* bench.vacuum_archived */ vacuum (full) events, epochs, payload_templates')
    await sql.unsafe('/* bench.analyze_archived */ vacuum (analyze)')
    await rebuildBloatedIndexes({ url, log }, new AbortController().signal)
    return { bytes: archived.bytes, rows: archived.rows }
  } finally {
    await archiver.close()
    await rm(folder, { recursive: true, force: true })
  }
}
