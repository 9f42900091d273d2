import { readdirSync, readFileSync } from 'node:fs'

/** Linux counts a process's time in hundredths of a second. */
const TICK_MS = 10

interface Stat {
  parent: number
  cpuMs: number
}

function statOf(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name is in parentheses and may hold anything; what follows is fixed.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    // utime, stime, and the same of children that ended.
    const ticks = [11, 12, 13, 14].reduce((sum, i) => sum + Number(fields[i]), 0)
    return { parent: Number(fields[1]), cpuMs: ticks * TICK_MS }
  } catch {
    return undefined
  }
}

function processes(): Map<number, Stat> {
  const stats = new Map<number, Stat>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const stat = statOf(Number(name))
    if (stat !== undefined) stats.set(Number(name), stat)
  }
  return stats
}

function belongsTo(root: number, pid: number, stats: Map<number, Stat>): boolean {
  for (let at = pid; at > 1; at = stats.get(at)?.parent ?? 0) if (at === root) return true
  return false
}

/** CPU milliseconds that a process and all its descendants have used so far, from /proc. */
export function cpuMsOf(root: number): number {
  const stats = processes()
  let sum = 0
  for (const [pid, { cpuMs }] of stats) if (belongsTo(root, pid, stats)) sum += cpuMs
  return sum
}

/** Children, their children and so on. */
export function descendantsOf(root: number): number[] {
  const stats = processes()
  return [...stats.keys()].filter((pid) => pid !== root && belongsTo(root, pid, stats))
}

/** Resident memory of one process in MB. */
export function rssMbOf(pid: number): number {
  const kb = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Math.round(Number(kb ?? 0) / 1024)
}

/** Memory of a process and all its descendants in MB; what several of them share counts once (Linux: `Pss`). */
export function memoryMbOf(root: number): number {
  let kb = 0
  for (const pid of [root, ...descendantsOf(root)]) {
    try {
      kb += Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0)
    } catch {
      // It has ended meanwhile.
    }
  }
  return Math.round(kb / 1024)
}
