import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { codeOf } from '../../thrown.ts'
import { isRoot } from './account.ts'

/** An entry of the process table. `started` and `name` are '' on systems that do not provide them. */
export interface RunningProcess {
  pid: number
  parent: number
  /** Opaque, and constant for the life of a process. Together with the pid it identifies a process uniquely. */
  started: string
  name: string
}

/**
 * Looks up a process; null if there is none, or only a zombie. If PID 1 never reaps (as in many containers), a dead
 * postmaster stays in the process table, and `kill(pid, 0)`, the only check of pg_ctl, reports it as alive.
 */
export function findProcess(pid: number): RunningProcess | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null
  if (process.platform === 'linux') return findInProc(pid)
  if (process.platform === 'darwin') return findByPs(pid)
  return answersSignals(pid) ? { pid, parent: 0, started: '', name: '' } : null
}

/** All processes, on Linux; elsewhere an empty list. */
export function listProcesses(): RunningProcess[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map((entry) => findInProc(Number(entry)))
    .filter((found) => found !== null)
}

/** The working directory of a process; null if it cannot be read, or the system is not Linux. */
export function currentFolder(pid: number): string | null {
  if (process.platform !== 'linux') return null
  const link = `/proc/${pid}/cwd`
  try {
    return readlinkSync(link)
  } catch {
    return isRoot() ? readLinkAsOwner(pid, link) : null
  }
}

/** Root in a container often may not inspect processes of other accounts, but their owner may. */
function readLinkAsOwner(pid: number, link: string): string | null {
  try {
    const { uid, gid } = statSync(`/proc/${pid}`)
    const found = execFileSync('readlink', [link], { uid, gid, encoding: 'utf8', stdio: 'pipe' })
    return found.replace(/\n$/, '')
  } catch {
    return null
  }
}

function findInProc(pid: number): RunningProcess | null {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The name is in parentheses and may contain parentheses; the numbers begin after the last one.
  const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
  const [state = 'X', parent = '0', ...rest] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z' || state === 'X') return null
  const started = rest[17] ?? '' // field 22 in proc(5): clock ticks since boot
  return { pid, parent: Number(parent), started, name }
}

function findByPs(pid: number): RunningProcess | null {
  try {
    const columns = ['-o', 'ppid=,stat=,lstart=,comm=', '-p', String(pid)]
    const line = execFileSync('/bin/ps', columns, { encoding: 'utf8', env: { LC_ALL: 'C' } }).trim()
    const [parent = '0', stat = 'Z', ...rest] = line.split(/\s+/)
    if (stat.startsWith('Z')) return null
    const name = rest.slice(5).join(' ').split('/').at(-1) ?? ''
    return { pid, parent: Number(parent), started: rest.slice(0, 5).join(' '), name }
  } catch {
    return null
  }
}

function answersSignals(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}
