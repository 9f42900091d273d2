import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser } from '@playwright/test'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freshEnvironment } from '../../scripts/python.mjs'
import { buildWheels } from '../../scripts/wheels.mjs'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { buildPage } from '../web/built-page.ts'
import { visit } from '../web/visit.ts'

/** The clients are installed with the words of the page, from the service alone: nothing else can be reached. */
let app: TestApp
let browser: Browser
let scratch: string
let ada: Awaited<ReturnType<TestApp['register']>>
beforeAll(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'svc-install-'))
  await buildPage()
  buildWheels()
  app = await startTestApp()
  browser = await openBrowser()
  ada = await app.register()
}, 240_000)
afterAll(async () => {
  await browser?.close()
  await app?.stop()
  await rm(scratch, { recursive: true, force: true })
})

/** A shell with these programs first, and every other network behind a proxy that does not answer. */
function shell(bin: string, line: string) {
  const kept = Object.entries(process.env).filter(([name]) => !/^(PIP_|UV_|SVC_|.*_proxy$)/i.test(name))
  const env = {
    ...Object.fromEntries(kept),
    PATH: `${bin}${delimiter}${process.env.PATH}`,
    VIRTUAL_ENV: join(bin, '..'),
    HOME: scratch,
    PIP_CONFIG_FILE: '/dev/null',
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '127.0.0.1',
  }
  return promisify(execFile)('/bin/sh', ['-euc', line], { env, cwd: scratch, timeout: 120_000 })
}

const asAda = () => visit(browser, { address: app.address, cookie: ada.cookie })

test('pip installs the reporter with the command of the page, and the script beside it reports a run that the page opens', async () => {
  const bin = await freshEnvironment(join(scratch, 'with-pip'))
  const { page, context } = await asAda()
  await page.goto('/connect')
  await page.getByRole('button', { name: 'Make a token' }).click()
  await page.getByRole('button', { name: 'Python', exact: true }).click()
  const line = await page.getByLabel('Command that installs the reporter').innerText()
  expect(line.trim()).toBe(`pip install --index-url ${app.address}/pip/simple/ svc-reporter`)
  const installed = await shell(bin, line)
  expect(installed.stdout).toContain('Successfully installed svc-reporter-')
  const script = await page.getByLabel('Snippet for python').innerText()
  // A minute of waiting is for people who watch.
  await writeFile(join(scratch, 'train.py'), script.replace('time.sleep(1)', 'time.sleep(0.02)'))
  await shell(bin, 'python train.py')
  await page.waitForURL(/\/b\//)
  await page.getByText('first-steps').first().waitFor()
  // Hashes are checked, metadata is read alone, and the programs are there.
  const again = await shell(
    bin,
    `${line.trim()} --dry-run --force-reinstall --no-cache-dir -v; svc-reporter --version`,
  )
  expect(again.stdout).toContain('.whl.metadata')
  await context.close()
}, 300_000)

test('pip installs the agent with the command of the Hosts page', async () => {
  const bin = await freshEnvironment(join(scratch, 'agent'))
  const { page, context } = await asAda()
  await page.goto('/hosts')
  const commands = await page.getByLabel('Commands that start an agent').innerText()
  const [line = ''] = commands.split('\n')
  await shell(bin, line)
  expect((await shell(bin, 'svc-agent --version')).stdout).toMatch(/^svc-agent \d/)
  await context.close()
}, 300_000)

test('uv installs the same with the same command, and pip from the address of the wheel alone', async () => {
  const tools = await freshEnvironment(join(scratch, 'tools'))
  await promisify(execFile)(join(tools, 'python'), ['-m', 'pip', 'install', '--quiet', 'uv'], {
    timeout: 180_000,
  })
  const bin = await freshEnvironment(join(scratch, 'with-uv'))
  const uv = join(tools, 'uv')
  await shell(bin, `${uv} pip install --index-url ${app.address}/pip/simple/ svc-reporter svc-agent`)
  expect((await shell(bin, 'svc-reporter --version; svc-agent --version')).stdout.split('\n')).toHaveLength(3)

  const other = await freshEnvironment(join(scratch, 'direct'))
  const { files } = buildWheels()
  const wheel = files.find(({ project }) => project === 'svc-reporter')?.filename
  await shell(other, `pip install ${app.address}/pip/files/${wheel}`)
  expect(
    (await shell(other, 'python -c "import svc_reporter; print(svc_reporter.__version__)"')).stdout.trim(),
  ).toBe(files[0]?.version)
}, 300_000)
