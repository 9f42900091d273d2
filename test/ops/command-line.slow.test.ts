import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { memoryFolder } from '../../scripts/memory.mjs'
import { type Cli, isAlive, postmasterOf, runCli } from '../cli/process.ts'
import { firstToken } from '../faults/server-process.ts'
import { makeEvent } from '../ingest/sending.ts'
import { createClient } from '../kit/http.ts'

// Each test starts real processes, on a machine that may be busy with others.
vi.setConfig({ testTimeout: 240_000 })

const homes: string[] = []
const running: Cli[] = []
afterEach(async () => {
  for (const cli of running.splice(0)) {
    if (cli.process.exitCode === null) cli.kill('SIGKILL')
    await cli.ended
  }
  for (const home of homes.splice(0)) {
    const orphan = postmasterOf(home)
    if (orphan !== undefined && isAlive(orphan)) process.kill(orphan, 'SIGQUIT')
    rmSync(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  }
})

function newHome(): string {
  const home = memoryFolder('svc-cli-').path
  homes.push(home)
  return home
}
function svc(home: string, ...args: string[]): Cli {
  const cli = runCli(args, { SVC_DATA_DIR: home, SVC_PORT: '0' })
  running.push(cli)
  return cli
}

test('an embedded database can be backed up beside its running server and restored into another data folder', async () => {
  const [home, other] = [newHome(), newHome()]
  const file = join(home, 'all.svc')
  const server = svc(home, 'start')
  const address = await server.address()
  const token = await firstToken(address)
  const http = createClient(address)
  const send = (event: unknown) => http.call('POST', '/api/events', { token, body: event })
  const event = makeEvent('batch_start')
  const { body } = await send(event)
  const pid = postmasterOf(home)

  const backup = await svc(home, 'backup', file).ended
  expect(backup).toMatchObject({ code: 0, out: '' })
  expect(backup.err).toMatch(/using the PostgreSQL that is already running/)
  expect(backup.err).toMatch(/svc: saved \d+ rows, .* in .* s; .*all\.svc has/)
  expect(postmasterOf(home)).toBe(pid)
  expect((await send(event)).body).toEqual({ db_id: body.db_id, deduplicated: true })
  http.close()

  const restore = await svc(other, 'restore', file).ended
  expect(restore).toMatchObject({ code: 0, out: '' })
  expect(restore.err).toMatch(/svc: restored \d+ rows of the backup of 20/)
  // It has no other users, so it is stopped again.
  expect(postmasterOf(other)).toBe(undefined)
  const second = createClient(await svc(other, 'start').address())
  expect((await second.call('POST', '/api/events', { token, body: event })).body).toEqual({
    db_id: body.db_id,
    deduplicated: true,
  })
  second.close()
})

test('an error is one line, with exit code 1, and leaves nothing behind', async () => {
  const home = newHome()
  const file = join(home, 'not.svc')
  writeFileSync(file, 'not a backup')
  for (const [args, said] of [
    [['backup'], /^svc: missing required argument 'file'\nSee svc backup --help\.\n$/],
    [['backup', 'a', 'b'], /^svc: too many arguments for 'backup'/],
    [['restore', '--replace'], /^svc: missing required argument 'path'\nSee svc restore --help\.\n$/],
    [['restore', file, '--force'], /^svc: unknown option '--force'/],
    [['restore', file], /(^|\n)svc: .*not\.svc is truncated or was altered: nothing was restored\n$/],
    [['restore', join(home, 'none')], /(^|\n)svc: .*none cannot be read \(ENOENT\)\n$/],
    [['backup', join(home, 'x.svc')], /(^|\n)svc: there is no database of this service to back up\n$/],
  ] as const) {
    const result = await svc(home, ...args).ended
    expect(result.code, args.join(' ')).toBe(1)
    expect(result.err).toMatch(said)
  }
  expect(existsSync(join(home, 'x.svc'))).toBe(false)
  expect(readFileSync(file, 'utf8')).toBe('not a backup')
})
