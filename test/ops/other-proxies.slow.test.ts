import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { putFile, sha256 } from '../files/sending-files.ts'
import { makeEvent } from '../ingest/sending.ts'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { freePort } from '../kit/free-port.ts'
import { createClient } from '../kit/http.ts'
import { installed, type RunningProxy, runApache, runHaproxy } from '../kit/proxy.ts'
import { buildPage } from '../web/built-page.ts'
import { visit } from '../web/visit.ts'

/** The HAProxy and the Apache of docs/scaling.md, word for word but for addresses and the certificate. */
const SCALING = readFileSync(join(import.meta.dirname, '../../docs/scaling.md'), 'utf8')
const ID = 'night/run 7%'

const root = memoryFolder('svc-proxies-').path
const started: { stop(): Promise<unknown> }[] = []
beforeAll(buildPage)
afterAll(async () => {
  await Promise.all(started.map((one) => one.stop()))
  rmSync(root, { recursive: true, force: true })
})

/** The block of a language, before this one server. */
function blockOf(language: string, target: string): string {
  const text = new RegExp(`\`\`\`${language}\n([\\s\\S]*?)\n\`\`\``).exec(SCALING)?.[1] ?? ''
  return text.replaceAll(/^.*10\.0\.0\.12.*\n?/gm, '').replace('10.0.0.11:8080', target)
}

const kinds = {
  haproxy: (program: string, target: string, port: number, folder: string): Promise<RunningProxy> =>
    runHaproxy(
      program,
      blockOf('haproxy', target)
        .replace(/bind .*/, `bind 127.0.0.1:${port}`)
        .replace('Proto https', 'Proto http')
        .replace('Host monitor.example.org', 'Host 127.0.0.1'),
      port,
      folder,
    ),
  apache2: (program: string, target: string, port: number, folder: string): Promise<RunningProxy> =>
    runApache(
      program,
      blockOf('apache', target)
        .replace('*:443', `127.0.0.1:${port}`)
        .replace('Proto https', 'Proto http')
        .replaceAll(/^ *(SSL|Protocols).*\n/gm, ''),
      port,
      folder,
    ),
}

for (const kind of ['haproxy', 'apache2'] as const) {
  const program = installed(kind)
  const hasProgram = program !== undefined
  if (!hasProgram) console.log(`${kind} is not installed: its test is skipped`)
  test.runIf(hasProgram)(
    `behind ${kind} page, stream, uploads and ids with slashes work`,
    async () => {
      const port = await freePort()
      const address = `http://127.0.0.1:${port}`
      const app: TestApp = await startTestApp({ publicUrl: address })
      started.push(app)
      const folder = join(root, kind)
      mkdirSync(folder, { mode: 0o755 })
      started.push(await kinds[kind](program ?? '', new URL(app.address).host, port, folder))
      const ada = await app.register('ada@example.org')
      const token = await app.reporterToken(ada.token)
      const headers = { authorization: `Bearer ${token}` }
      const send = async (...events: unknown[]): Promise<void> => {
        const sent = await fetch(`${address}/api/events/batch`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(events),
        })
        expect(sent.status).toBe(200)
      }
      const of = (
        event: Parameters<typeof makeEvent>[0],
        data: Record<string, unknown>,
        job_id: string | null,
      ) => makeEvent(event, { batch_id: ID, job_id, data })
      await send(
        of('batch_start', {}, null),
        of('job_start', {}, 'first'),
        of('job_epoch', { epoch: 0, loss: 3 }, 'first'),
      )

      const { page, complaints } = await visit(await openBrowser(), { address, cookie: ada.cookie })
      await page.goto(`/b/${encodeURIComponent(ID)}`)
      await page.getByRole('heading', { name: ID }).waitFor()
      await page.locator('canvas').first().waitFor()
      await send(of('job_start', {}, 'by the stream'))
      await page.getByText('by the stream', { exact: true }).first().waitFor()
      expect(complaints).toEqual([])

      const content = randomBytes(3_000_000)
      const behind = { ...app, ...createClient(address) }
      await putFile(behind, { token, batch: encodeURIComponent(ID) }, 'made/model.pt', content)
      const got = await fetch(`${address}/api/batches/${encodeURIComponent(ID)}/files/made/model.pt`, {
        headers: { authorization: `Bearer ${ada.token}` },
      })
      expect(sha256(Buffer.from(await got.arrayBuffer()))).toBe(sha256(content))
      expect((await fetch(`${address}/metrics`)).status).toBe(404)
    },
    120_000,
  )
}
