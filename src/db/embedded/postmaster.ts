import { linkSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { codeOf } from '../../thrown.ts'
import { currentFolder, findProcess, listProcesses } from './processes.ts'

/**
 * The state of the postmaster, from postmaster.pid and the process table. `stale`: the process in the file is no
 * postmaster of this cluster. `unclear`: the file is being written right now. `listens`: it has got its port and takes
 * connections.
 */
export type PostmasterState =
  | { state: 'running'; pid: number; port: number; listens: boolean }
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
  const lines = text.split('\n')
  const [pid, , , port] = lines.map(Number)
  if (!pid || !port) return ageMs < 2_000 ? { state: 'unclear' } : { state: 'stale', text }
  if (!isPostmaster(pid, data)) return { state: 'stale', text }
  return { state: 'running', pid, port, listens: ['ready', 'standby'].includes(lines[7]?.trim() ?? '') }
}

/**
 * Pids are reused. Only a process named postgres whose working directory is this data folder belongs to this cluster.
 */
function isPostmaster(pid: number, data: string): boolean {
  const found = findProcess(pid)
  if (!found) return false
  if (found.name !== '' && !found.name.startsWith('postgres')) return false
  if (process.platform !== 'linux') return true
  return currentFolder(pid) === realpathSync(data)
}

/**
 * Removes a stale postmaster.pid. PostgreSQL removes it itself if the process no longer exists, but refuses to start if
 * the process is a zombie or the pid now belongs to another process of the same user. The file is renamed and then
 * compared, and put back if another start wrote a new one meanwhile.
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
 * Kills the backends that a dead postmaster left behind. A backend ends by itself once it notices, but one in a long
 * statement keeps the shared memory attached until then and so blocks the next start. To the cluster this is an
 * ordinary crash.
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
 * Stops the postmaster and waits until it has ended. First a fast shutdown (sessions end, everything is written), then
 * an immediate one (as in a crash, nothing acknowledged is lost), then SIGKILL. `patienceMs` limits the first step.
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
