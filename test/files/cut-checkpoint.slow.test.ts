import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { randomFrom } from '../../src/domain/random.ts'
import { firstToken, newHome, type ServerProcess, startServer } from '../faults/server-process.ts'
import { PASSWORD } from '../kit/app.ts'
import { patienceMs, tellSeed } from '../kit/effort.ts'
import { freePort } from '../kit/free-port.ts'
import { createClient } from '../kit/http.ts'
import { hashOfFile, hashOfStored, startCheckpointRun } from './checkpoint.ts'
import { cuttingProxy, randomCuts, sentAgain } from './cutting-proxy.ts'

// Issue "Files", proof: a checkpoint whose connection is cut twenty times at random bytes, with kill -9 of the training and
// of the server between. bench/files.ts does the same with 2 GiB through nginx.

const SIZE = 64 * 1024 * 1024
const CUTS = 20
/** The longest part that the reporter sends in one request. */
const PART = 16 * 1024 * 1024

const cleanUps: (() => Promise<unknown> | unknown)[] = []
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp()
})

test(
  'a checkpoint arrives whole through twenty cuts and two kills, and no more is sent twice than the last part',
  async () => {
    const draw = randomFrom(tellSeed('cut checkpoint'))
    const { home, remove } = newHome()
    const settings = {
      SVC_DATA_DIR: home,
      SVC_PORT: String(await freePort()),
      SVC_FILES_KEEP_FREE_BYTES: '0',
    }
    let server: ServerProcess
    const restart = async () => {
      server.kill('SIGKILL')
      await server.ended
      server = await startServer(settings)
    }
    server = await startServer(settings)
    const { address } = server
    cleanUps.push(async () => {
      server.kill('SIGKILL')
      await server.ended
      await remove()
    })
    const token = await firstToken(address)
    const http = createClient(address)
    const account = { email: 'person@example.org', password: PASSWORD }
    const session: string = (await http.call('POST', '/api/auth/login', { body: account })).body.token
    http.close()

    const own = join(home, '..', 'training')
    mkdirSync(own)
    const file = join(own, 'model.pt')
    for (let at = 0; at < SIZE; at += PART)
      writeFileSync(file, randomBytes(PART), { flag: at === 0 ? 'w' : 'a' })
    let restarted: Promise<void> | undefined
    const proxy = await cuttingProxy(address, randomCuts(CUTS, SIZE, draw), (count) => {
      if (count === 7) run.kill()
      if (count === 14) restarted = restart()
    })
    cleanUps.push(() => proxy.close())
    const run = await startCheckpointRun(own, file, { url: proxy.address, token })
    cleanUps.push(run.kill)

    const expected = await hashOfFile(file)
    let stored: string | undefined
    // The process that outlives the script sends on; where it gave up, its user does.
    for (let i = 1; stored === undefined; i++) {
      await sleep(200)
      await restarted
      if (i % 100 === 0) console.info(await run.sync())
      stored = await hashOfStored(address, run.batch, 'model.pt', session)
    }
    expect(stored).toBe(expected)
    expect(proxy.cuts).toBe(CUTS)
    const again = sentAgain(proxy.patches)
    console.info(
      `cut checkpoint: ${proxy.patches.length} requests, ${again.reduce((sum, one) => sum + one, 0)} bytes sent twice, at most ${Math.max(...again)} of one`,
    )
    for (const [i, bytes] of again.entries())
      expect(bytes, JSON.stringify(proxy.patches[i])).toBeLessThanOrEqual(PART)
  },
  patienceMs(400),
)
