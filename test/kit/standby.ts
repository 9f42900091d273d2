import { chmodSync, chownSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { memoryFolder } from '../../scripts/memory.mjs'
import { isRoot, runAs, unprivilegedAccount } from '../../src/db/embedded/account.ts'
import { prepareBinaries } from '../../src/db/embedded/binaries.ts'
import { openSql } from '../../src/db/sql.ts'
import { freePort } from './free-port.ts'

/** A PostgreSQL with a standby that streams from it, both from the binaries that come with the packages. */
export interface Pair {
  /** Of the primary, of the standby, and of both with the standby first. */
  primary: string
  standby: string
  both: string
  /** From here on a commit waits for the standby's disk. */
  makeSynchronous(): Promise<void>
  killPrimary(): void
  killStandby(): void
  promote(): Promise<void>
  stop(): Promise<void>
}

export async function openPair(): Promise<Pair> {
  const root = memoryFolder('svc-pair-').path
  chmodSync(root, 0o755)
  const account = isRoot() ? await unprivilegedAccount() : null
  const bin = dirname((await prepareBinaries(root, account)).pgCtl)
  if (account !== null) chownSync(root, account.uid, account.gid)
  const run = (program: string, ...args: string[]) => runAs(account, join(bin, program), args)
  const folders = { primary: join(root, 'primary'), standby: join(root, 'standby') }
  const ports = { primary: await freePort(), standby: await freePort() }
  const url = (hosts: string) => `postgresql://postgres@${hosts}/postgres`
  const host = (which: keyof typeof ports) => `127.0.0.1:${ports[which]}`
  const start = (which: keyof typeof ports) =>
    run(
      'pg_ctl',
      'start',
      '-w',
      '-D',
      folders[which],
      '-l',
      `${folders[which]}.log`,
      '-o',
      `-p ${ports[which]} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200`,
    )
  await run('initdb', '-D', folders.primary, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync')
  // Both begin with the same files, so the standby needs no copy of a running server.
  await runAs(account, '/bin/cp', ['-r', folders.primary, folders.standby])
  await runAs(account, '/bin/sh', [
    '-c',
    `touch "$1/standby.signal"; echo "primary_conninfo = 'host=127.0.0.1 port=${ports.primary} user=postgres application_name=standby'" >> "$1/postgresql.auto.conf"`,
    'sh',
    folders.standby,
  ])
  await start('primary')
  await start('standby')
  const kill = (folder: string): void => {
    process.kill(Number(readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
  }
  return {
    primary: url(host('primary')),
    standby: url(host('standby')),
    both: url(`${host('standby')},${host('primary')}`),
    async makeSynchronous() {
      const sql = openSql(url(host('primary')), { name: 'test', max: 1 })
      await sql.unsafe("alter system set synchronous_standby_names = 'standby'")
      await sql.unsafe('select pg_reload_conf()')
      for (let n = 0; ; n++) {
        const [row] = await sql.unsafe('select sync_state from pg_stat_replication')
        if (row?.sync_state === 'sync') break
        if (n > 300) throw new Error('the standby does not stream')
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      await sql.end()
    },
    killPrimary: () => kill(folders.primary),
    killStandby: () => kill(folders.standby),
    promote: async () => void (await run('pg_ctl', 'promote', '-w', '-D', folders.standby)),
    async stop() {
      for (const folder of Object.values(folders))
        await run('pg_ctl', 'stop', '-m', 'immediate', '-D', folder).catch(() => {})
      rmSync(root, { recursive: true, force: true, maxRetries: 10 })
    },
  }
}
