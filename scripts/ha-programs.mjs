// What fail-over by Patroni needs on one machine: Patroni, etcd and a PostgreSQL server, from Debian's packages.
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { isInstalled } from './installed.mjs'

/** Where Debian and Ubuntu install the versions of PostgreSQL. */
const VERSIONS = '/usr/lib/postgresql'

/** The programs of the newest installed PostgreSQL server; undefined if there is none. */
export function postgresPrograms() {
  if (!existsSync(VERSIONS)) return undefined
  return readdirSync(VERSIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(VERSIONS, version, 'bin'))
    .find((programs) => existsSync(join(programs, 'initdb')) && existsSync(join(programs, 'pg_rewind')))
}

/** The names of those that this machine lacks. */
export function missingPrograms() {
  const missing = ['patroni', 'patronictl', 'etcd'].filter((program) => !isInstalled(program))
  return postgresPrograms() === undefined ? [...missing, 'a PostgreSQL server'] : missing
}
