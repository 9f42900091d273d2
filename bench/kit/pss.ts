import { readFileSync } from 'node:fs'
import { descendantsOf } from './cpu.ts'

/** The most that the processes together hold, each page counted once. */
export function watchMemory(roots: number[]): { stop(): number } {
  let most = 0
  const look = (): void => {
    const pids = roots.flatMap((root) => [root, ...descendantsOf(root)])
    most = Math.max(
      most,
      pids.reduce((sum, pid) => sum + pssMbOf(pid), 0),
    )
  }
  const timer = setInterval(look, 1_000)
  return {
    stop: () => {
      clearInterval(timer)
      look()
      return most
    },
  }
}

function pssMbOf(pid: number): number {
  try {
    return Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024
  } catch {
    // It ended meanwhile.
    return 0
  }
}
