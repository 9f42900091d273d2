// Citus on this machine: installed into Debian's PostgreSQL 15, or built into it from the source archive beside the
// checkout, ../shared/citus/citus-*.tar.xz. Nothing is downloaded.
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { BIN } from './cluster-nodes.mjs'

const BESIDE = resolve(fileURLToPath(import.meta.url), '../../../shared/citus')
const PG_CONFIG = join(BIN, 'pg_config')
const pgConfig = (what) => execFileSync(PG_CONFIG, [what], { encoding: 'utf8' }).trim()

/**
 * Builds and installs Citus where it is not there yet.
 * @returns why there is none; undefined where there is
 */
export function ensureCitus() {
  if (!existsSync(join(BIN, 'initdb'))) return 'PostgreSQL 15 is not installed'
  if (existsSync('/usr/lib/postgresql/15/lib/citus.so')) return undefined
  const archive = archiveBeside()
  if (archive === undefined)
    return 'Citus is not installed, and there is no ../shared/citus/citus-*.tar.xz beside the checkout'
  if (!existsSync(PG_CONFIG) || !existsSync(join(pgConfig('--includedir-server'), 'postgres.h')))
    return 'Citus is not installed, and postgresql-server-dev-15, which it is built with, is not either'
  const libraries = pgConfig('--pkglibdir')
  try {
    accessSync(libraries, constants.W_OK)
  } catch {
    return `Citus is not installed, and ${libraries} cannot be written`
  }
  return build(archive)
}

function archiveBeside() {
  if (!existsSync(BESIDE)) return undefined
  const name = readdirSync(BESIDE).find((one) => /^citus-[\d.]+\.tar\.xz$/.test(one))
  return name && join(BESIDE, name)
}

/** @returns why it cannot be built, by the last lines of what says so */
function build(archive) {
  console.log('building Citus')
  const cwd = mkdtempSync(join(tmpdir(), 'svc-citus-'))
  const steps = [
    ['tar', ['-xJf', archive]],
    ['./configure', ['-q', `PG_CONFIG=${PG_CONFIG}`, '--without-libcurl']],
    ['make', ['-s', `-j${availableParallelism()}`]],
    ['make', ['-s', 'install']],
  ]
  try {
    for (const [command, args] of steps)
      execFileSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'], maxBuffer: 2 ** 26 })
    return undefined
  } catch (error) {
    return `Citus cannot be built:\n${error.message.trim().split('\n').slice(-8).join('\n')}`
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
