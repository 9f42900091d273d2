/**
 * Files of runs (docs/files.md): a checkpoint of 2 GiB by the reporter through the real nginx, cut twenty times at random
 * bytes, with kill -9 of the training and of the server between; and 20 uploads of 2 GiB at the same time beside ingest.
 * It needs nginx, or apt to download it, and 45 GB of disk. FILES_MIB sets another size of the checkpoint, FILES_EACH_MIB one of
 * the uploads, FILES_UPLOADS their number.
 */
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { hashOfFile, hashOfStored, startCheckpointRun } from '../test/files/checkpoint.ts'
import { cuttingProxy, randomCuts, sentAgain } from '../test/files/cutting-proxy.ts'
import { freePort } from '../test/kit/free-port.ts'
import { runNginx } from '../test/kit/proxy.ts'
import { rssMbOf } from './kit/cpu.ts'
import { arraysOf, take, trainingEvents } from './kit/events.ts'
import { postAll } from './kit/load.ts'
import { type Figure, printFigures } from './kit/report.ts'
import { type BenchServer, startDatabase, startServer } from './kit/server.ts'

export const longMinutes = 8

const MIB = 1024 * 1024
const SIZE = Number(process.env.FILES_MIB ?? 2_048) * MIB
const EACH = Number(process.env.FILES_EACH_MIB ?? 2_048) * MIB
const UPLOADS = Number(process.env.FILES_UPLOADS ?? 20)
const CUTS = 20
/** The longest part that the reporter sends in one request. */
const PART = 16 * MIB
const ARRAY = 500
const EVENTS = 40_000

export async function benchFiles(): Promise<Figure[]> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-files-'))
  const database = await startDatabase()
  const port = await freePort()
  const env = {
    SVC_PORT: String(port),
    SVC_FILES: join(folder, 'files'),
    SVC_TRUST_PROXY: 'true',
  }
  const start = (): Promise<BenchServer> => startServer(database.url, env)
  let server = await start()
  try {
    const restart = async (): Promise<void> => {
      process.kill(server.pid, 'SIGKILL')
      server = await start()
    }
    const cut = await cutCheckpoint(folder, server, port, restart)
    return [...cut, ...(await manyUploads(server))]
  } finally {
    await server.stop()
    await database.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function cutCheckpoint(
  folder: string,
  { address, token, session }: BenchServer,
  port: number,
  restart: () => Promise<void>,
): Promise<Figure[]> {
  const home = join(folder, 'training')
  mkdirSync(home)
  const file = join(home, 'model.pt')
  for (let at = 0; at < SIZE; at += PART) writeFileSync(file, randomBytes(PART), { flag: 'a' })
  const expected = await hashOfFile(file)
  const own = await freePort()
  const nginx = await runNginx(nginxOf(own, port), own, folder)
  let restarted: Promise<void> | undefined
  const proxy = await cuttingProxy(nginx.address, randomCuts(CUTS, SIZE, Math.random), (count) => {
    if (count === 7) run.kill()
    if (count === 14) restarted = restart()
  })
  const from = performance.now()
  const run = await startCheckpointRun(home, file, { url: proxy.address, token })
  try {
    let stored: string | undefined
    for (let i = 1; stored === undefined; i++) {
      await sleep(500)
      await restarted
      if (i % 60 === 0) await run.sync()
      stored = await hashOfStored(address, run.batch, 'model.pt', session)
    }
    const seconds = (performance.now() - from) / 1000
    if (stored !== expected) throw new Error(`the checkpoint arrived as ${stored}, not ${expected}`)
    const again = sentAgain(proxy.patches)
    const mib = (bytes: number): string => `${(bytes / MIB).toFixed(1)} MiB`
    return [
      {
        what: `A checkpoint of ${mib(SIZE)} through nginx, cut ${proxy.cuts} times, reporter and server killed`,
        value: `${seconds.toFixed(0)} s, the same hash`,
        limit: '',
      },
      {
        what: 'Bytes that were sent twice, in one request at most',
        value: `${mib(Math.max(...again))}; ${mib(again.reduce((sum, one) => sum + one, 0))} in all`,
        limit: `one part ${mib(PART)}`,
        ratio: Math.max(...again) / PART,
        aim: { most: 1 },
      },
    ]
  } finally {
    run.kill()
    proxy.close()
    await nginx.stop()
  }
}

/** The text of docs/scaling.md for one server, without TLS. */
function nginxOf(port: number, server: number): string {
  const text = readFileSync(join(import.meta.dirname, '../docs/scaling.md'), 'utf8')
  const block = /```nginx\n([\s\S]*?)\n```/.exec(text)?.[1] ?? ''
  return block
    .replaceAll('10.0.0.11:8080', `127.0.0.1:${server}`)
    .replace(/^ *server 10\.0\.0\.12:8080.*\n/gm, '')
    .replace(/listen 443 ssl http2;.*/, `listen 127.0.0.1:${port};`)
    .replace(/^ *ssl_certificate.*\n/gm, '')
}

const highMb = (pid: number): number =>
  Math.round(Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024)

async function manyUploads(server: BenchServer): Promise<Figure[]> {
  const ingest = async (tag: string): Promise<number> => {
    const bodies = arraysOf(take(trainingEvents({ batches: 8, jobs: 8, tag }), EVENTS), ARRAY)
    const { seconds, failures } = await postAll(server.address, '/api/events/batch', bodies, {
      connections: 4,
      token: server.token,
    })
    if (failures > 0) throw new Error(`${failures} arrays of events were refused`)
    return EVENTS / seconds
  }
  await ingest('warm')
  const alone = await ingest('alone')
  const [rssBefore, highBefore] = [rssMbOf(server.pid), highMb(server.pid)]
  const from = performance.now()
  let over = false
  const uploads = uploadZeros(server).finally(() => {
    over = true
  })
  const beside: number[] = []
  while (!over) beside.push(await ingest(`beside${beside.length}`))
  await uploads
  const seconds = (performance.now() - from) / 1000
  const high = highMb(server.pid)
  const mean = beside.reduce((sum, one) => sum + one, 0) / beside.length
  const rate = (perS: number): string => `${Math.round(perS).toLocaleString('en')}/s`
  return [
    {
      what: `${UPLOADS} uploads of ${EACH / MIB} MiB at the same time`,
      value: `${seconds.toFixed(0)} s, ${Math.round((UPLOADS * EACH) / MIB / seconds)} MiB/s`,
      limit: '',
    },
    {
      what: 'Highest memory of the server meanwhile',
      value: `${high} MB (resident before: ${rssBefore} MB)`,
      limit: `after ingest alone ${highBefore} MB`,
      ratio: high / highBefore,
      aim: { most: 2 },
    },
    {
      what: 'Ingest meanwhile, arrays of 500',
      value: rate(mean),
      limit: `alone ${rate(alone)}`,
      ratio: mean / alone,
      aim: { least: 0.3 },
    },
  ]
}

/** Files of zeros that differ in their last bytes: their hashes cost the client one pass. */
async function uploadZeros({ address, token }: BenchServer): Promise<void> {
  const zeros = Buffer.alloc(MIB)
  const begin = createHash('sha256')
  for (let at = MIB; at < EACH; at += MIB) begin.update(zeros)
  const names = Array.from({ length: UPLOADS }, (_, i) => {
    const last = Buffer.from(String(i).padStart(MIB, '0'))
    return { path: `zeros/${i}`, last, sha256: begin.copy().update(last).digest('hex') }
  })
  const call = async (path: string, body: unknown) => {
    const answer = await fetch(`${address}${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return answer.json()
  }
  const [event] = take(trainingEvents({ batches: 1, jobs: 1, tag: 'zeros' }), 1).map((text) =>
    JSON.parse(text),
  )
  await call('/api/events', event)
  const { items } = (await call(`/api/batches/${event.batch_id}/files`, {
    files: names.map(({ path, sha256 }) => ({ path, sha256, size: EACH })),
  })) as { items: { upload_url: string }[] }
  await Promise.all(
    items.map(({ upload_url: url }, i) => {
      async function* bytes() {
        for (let at = MIB; at < EACH; at += MIB) yield zeros
        yield names[i]?.last as Buffer
      }
      return send(`${address}${url}`, token, bytes())
    }),
  )
}

function send(url: string, token: string, bytes: AsyncIterable<Buffer>): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(
      url,
      {
        method: 'PATCH',
        headers: {
          authorization: `Bearer ${token}`,
          'tus-resumable': '1.0.0',
          'content-type': 'application/offset+octet-stream',
          'upload-offset': 0,
          'content-length': EACH,
        },
      },
      (answer) => {
        answer.resume()
        if (answer.statusCode === 204) answer.once('end', resolve)
        else reject(new Error(`${url}: ${answer.statusCode}`))
      },
    )
    sent.once('error', reject)
    const pump = async (): Promise<void> => {
      for await (const chunk of bytes) if (!sent.write(chunk)) await once(sent, 'drain')
      sent.end()
    }
    pump().catch(reject)
  })
}

if (process.argv[1] === import.meta.filename) printFigures('Files', await benchFiles())
