import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { findPython } from '../../scripts/python.mjs'
import { buildWheels } from '../../scripts/wheels.mjs'
import { PASSWORD } from '../kit/app.ts'
import { pageFixture } from './page-fixture.ts'
import { seriousFindings } from './visit.ts'

let scratch: string
const web = pageFixture(
  async () => {
    buildWheels()
    scratch = await mkdtemp(join(tmpdir(), 'svc-first-run-'))
  },
  { accounts: [] },
)
afterAll(() => rm(scratch, { recursive: true, force: true }))

test('a new service asks for the first account, and one pasted command then sends a run that the page opens', async () => {
  const { page, context, complaints } = await web.signedOut()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Create the first account' }).waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await page.getByLabel('E-mail address').fill('ada@example.org')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Register' }).click()
  await page.getByRole('button', { name: 'Make a token' }).click()
  const line = (await page.getByLabel('Command for a first run').innerText()).trim()
  expect(line).not.toContain('\n')
  expect(line).toContain(`SVC_URL=${web.app.address} `)
  expect(await seriousFindings(page)).toEqual([])
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  const { path } = await findPython()
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(SVC_|PYTHON|.*_proxy$)/i.test(name)),
  )
  const { stdout } = await promisify(execFile)(
    '/bin/sh',
    ['-euc', `${line.replace(' python3 ', ` '${path}' `)} --seconds 1`],
    {
      cwd: scratch,
      env: { ...env, HOME: scratch },
      timeout: 120_000,
    },
  )
  expect(stdout).toContain('step 50: val_loss')
  await page.waitForURL(/\/b\/train-/)
  await page.getByRole('heading', { name: 'hello' }).waitFor()
  await page.locator('[data-chart="val_loss"]').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})

test('once there is an account the page asks to sign in, not for a first account', async () => {
  const { page, context } = await web.signedOut()
  await page.goto('/')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.getByRole('link', { name: 'Register' }).click()
  await page.getByRole('heading', { name: 'Register' }).waitFor()
  expect(await web.app.call('GET', '/api/auth/register')).toMatchObject({
    body: { open: true, first: false },
  })
  await context.close()
})
