import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Door, makeEvent, openDoor } from '../ingest/sending.ts'
import { debianPackage } from '../kit/debian.ts'

const FOLDER = join(import.meta.dirname, '../../deploy/prometheus')

let door: Door
let promtool: string
beforeAll(async () => {
  promtool = join(await debianPackage('prometheus'), 'usr/bin/promtool')
  door = await openDoor()
  await door.send(makeEvent('batch_start'))
  await door.app.call('GET', '/api/none')
  // The metrics of the queue need a job, those of the clock a tick.
  await door.sql`select graphile_worker.add_job('mail', '{}', run_at := now() + interval '1 hour')`
  await door.app.runTask('watch')
}, 400_000)
afterAll(() => door?.stop())

const run = (args: string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8', cwd: FOLDER, input })
  return { status, said: `${stdout}${stderr}` }
}
const scrape = async (): Promise<string> => (await door.app.call('GET', '/metrics')).body

test('promtool finds no mistakes in the metrics of a server', async () => {
  const { status, said } = run(['check', 'metrics'], await scrape())
  expect(said).toBe('')
  expect(status).toBe(0)
})

test('promtool accepts the alert rules, and they fire when they should and not before', () => {
  expect(run(['check', 'rules', 'alerts.yml'])).toMatchObject({ status: 0 })
  const tested = run(['test', 'rules', 'alerts.test.yml'])
  expect(tested.status, tested.said).toBe(0)
  expect(run(['check', 'config', '--syntax-only', 'prometheus.yml'])).toMatchObject({ status: 0 })
})

test('every metric that an alert names is exported by a server, or documented', async () => {
  const exported = new Set(
    [...(await scrape()).matchAll(/^# TYPE (\w+) /gm)].map(([, name]) => name as string),
  )
  const rules = parse(readFileSync(join(FOLDER, 'alerts.yml'), 'utf8'))
  const expressions = (rules.groups as { rules: { expr: string }[] }[]).flatMap((group) =>
    group.rules.map(({ expr }) => expr),
  )
  expect(expressions.length).toBeGreaterThanOrEqual(10)
  const operations = readFileSync(join(FOLDER, '../../docs/operations.md'), 'utf8')
  // The disk is that of the embedded database, which a test's app does not have.
  for (const [name] of expressions.join('\n').matchAll(/\b(svc|nodejs|process)_\w+/g))
    if (name.startsWith('svc_disk_')) expect(operations).toContain(name)
    else expect(exported, name).toContain(name)
})
