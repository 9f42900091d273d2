import { pino } from 'pino'
import { openStore } from '../../src/storage/index.ts'
import { createArchiver } from '../../src/workers/archiver.ts'

// One round of the archiver in a process of its own, which a test kills: the database's URL, the archive's.

const [url = '', archive = ''] = process.argv.slice(2)
const s3 = { endpoint: undefined, region: undefined, accessKeyId: undefined, secretAccessKey: undefined }
const archiver = createArchiver({
  url,
  log: pino({ level: 'silent' }),
  store: () => openStore({ url: archive, s3 }),
  afterDays: 30,
  kept: () => ({ lines: '2000-01-01T00:00:00Z', payloads: null }),
  now: () => new Date(),
  settleMs: 0,
})
const { failed } = await archiver.round(new AbortController().signal)
await archiver.close()
process.exitCode = failed
