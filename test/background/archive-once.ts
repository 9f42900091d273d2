import { pino } from 'pino'
import { openSql } from '../../src/db/sql.ts'
import { thaw } from '../../src/domain/cold/index.ts'
import { type ObjectStore, openStore } from '../../src/storage/index.ts'
import { createArchiver } from '../../src/workers/archiver.ts'

// One round of the archiver, or the restore of a batch, in a process of its own, which a test kills: the database's URL, the
// archive's, and what else is wanted of it.

export interface Wanted {
  /** Log lines before this instant expire. */
  lines?: string
  /** The key of a batch to restore instead. */
  restore?: number
  /** Kills itself before this call of the store, the first is 1. */
  killedAt?: number
  /** Says so and waits for its end before this call of the store. */
  heldAt?: number
  /** Prints the number of its calls of the store at the end. */
  counts?: boolean
}

const [url = '', archive = '', json = '{}'] = process.argv.slice(2)
const { lines = '2000-01-01T00:00:00Z', restore, killedAt, heldAt, counts }: Wanted = JSON.parse(json)
const kept = { lines, payloads: null }
const s3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined }

let calls = 0
async function counted(): Promise<void> {
  calls++
  if (calls === killedAt) process.kill(process.pid, 'SIGKILL')
  if (calls !== heldAt) return
  process.stdout.write('held\n')
  await new Promise((resolve) => setTimeout(resolve, 600_000))
}

async function store(): Promise<ObjectStore> {
  const real = await openStore({ url: archive, s3 })
  return {
    ...real,
    get: (name) => counted().then(() => real.get(name)),
    put: (name, bytes) => counted().then(() => real.put(name, bytes)),
    sizeOf: (name) => counted().then(() => real.sizeOf(name)),
    removeFolder: (name) => counted().then(() => real.removeFolder(name)),
  }
}

if (restore === undefined) {
  const archiver = createArchiver({
    url,
    log: pino({ level: 'silent' }),
    store,
    afterDays: 30,
    kept: () => kept,
    now: () => new Date(),
    settleMs: 0,
  })
  const { failed } = await archiver.round(new AbortController().signal)
  await archiver.close()
  process.exitCode = failed
} else {
  const sql = openSql(url, { name: 'archive', max: 1 })
  await thaw(sql, await store(), restore, kept)
  await sql.end()
}
if (counts === true) process.stdout.write(`${calls}\n`)
