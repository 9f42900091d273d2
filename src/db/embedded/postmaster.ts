import { linkSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../thrown.ts'
import { currentFolder, findProcess, listProcesses } from './processes.ts'

/**
 * What postmaster.pid and the machine say together. `stale`: the file speaks of a process that is no postmaster of
 * this cluster. `unclear`: the file is being written this moment.
 */
export type PostmasterState =
  | { state: 'running'; pid: number; port: number }
  | { state: 'stale'; text: string }
  | { state: 'unclear' }
  | { state: 'none' }

const pidFile = (data: string) => join(data, 'postmaster.pid')

export function inspectPostmaster(data: string): PostmasterState {
  let text: string
  let ageMs: number
  try {
    text = readFileSync(pidFile(data), 'utf8')
    ageMs = Date.now() - statSync(pidFile(data)).mtimeMs
  } catch {
    return { state: 'none' }
  }
  const [pid, , , port] = text.split('\n').map(Number)
  if (!pid || !port) return ageMs < 2_000 ? { state: 'unclear' } : { state: 'stale', text }
  return isPostmaster(pid, data) ? { state: 'running', pid, port } : { state: 'stale', text }
}

/** Pids are used again: only a process named postgres whose working directory is this data folder belongs to this cluster. */
function isPostmaster(pid: number, data: string): boolean {
  const found = findProcess(pid)
  if (!found) return false
  if (found.name !== '' && !found.name.startsWith('postgres')) return false
  if (process.platform !== 'linux') return true
  return currentFolder(pid) === realpathSync(data)
}

/**
 * Removes a postmaster.pid that was found stale. PostgreSQL does that itself when the process no longer exists, but refuses to
 * start when it is a zombie or the pid now belongs to another process of the same user. By renaming and looking
 * again, so that a file which another start wrote meanwhile is put back.
 */
export function removeStale(data: string, text: string) {
  const aside = `${pidFile(data)}.stale-${process.pid}`
  try {
    renameSync(pidFile(data), aside)
    if (readFileSync(aside, 'utf8') !== text) linkSync(aside, pidFile(data))
  } catch (error) {
    if (!['ENOENT', 'EEXIST'].includes(codeOf(error) ?? '')) throw error
  } finally {
    rmSync(aside, { force: true })
  }
}

/**
 * Kills what a dead postmaster left behind. A backend leaves by itself when it notices, but one in the middle of a
 * long statement holds the shared memory, and with it the next start, for as long as that lasts. To the cluster a
 * crash like any other.
 */
export function killOrphans(data: string) {
  const here = realpathSync(data)
  const family = listProcesses().filter(
    (one) => one.name.startsWith('postgres') && currentFolder(one.pid) === here,
  )
  const pids = new Set(family.map((one) => one.pid))
  const sighting = inspectPostmaster(data)
  for (const one of family) {
    const ofLivingPostmaster =
      pids.has(one.parent) || (sighting.state === 'running' && sighting.pid === one.pid)
    if (!ofLivingPostmaster && sighting.state !== 'unclear') signal(one.pid, 'SIGKILL')
  }
}

/**
 * Stops the postmaster and waits until it has ended: fast (sessions end, everything is written), then immediate (as
 * after a crash, nothing acknowledged is lost), then by force. `patienceMs` is for the first step.
 */
export async function stopPostmaster(data: string, patienceMs: number): Promise<void> {
  const sighting = inspectPostmaster(data)
  if (sighting.state !== 'running') return
  const { pid } = sighting
  const steps = [
    ['SIGINT', patienceMs],
    ['SIGQUIT', 5_000],
    ['SIGKILL', 5_000],
  ] as const
  for (const [name, waitMs] of steps) {
    signal(pid, name)
    if (await exitedWithin(pid, data, waitMs)) return
  }
  throw new Error(`PostgreSQL (pid ${pid}) in ${data} does not stop`)
}

async function exitedWithin(pid: number, data: string, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms
  while (isPostmaster(pid, data)) {
    if (performance.now() > deadline) return false
    await sleep(20)
  }
  return true
}

function signal(pid: number, name: NodeJS.Signals) {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error
  }
}
