// Where tests keep a database: in memory if there is room, as most of what a small database costs is waiting for the disk,
// and the disk of a shared machine is slow at times. PostgreSQL runs with the same settings there, and what it committed
// survives the death of its processes as on a disk.
import { mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const MEMORY = '/dev/shm'
/** More than the databases and the WAL of a whole run take. */
const ROOM_BYTES = 4 * 2 ** 30

/**
 * A new folder whose name begins with `prefix`.
 * @returns its path, and whether it is in memory; without enough room there it is in the system's temporary folder
 */
export function memoryFolder(prefix) {
  if (hasRoom()) {
    try {
      return { path: mkdtempSync(join(MEMORY, prefix)), inMemory: true }
    } catch {
      // It may not be written to.
    }
  }
  return { path: mkdtempSync(join(tmpdir(), prefix)), inMemory: false }
}

function hasRoom() {
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    return bavail * bsize >= ROOM_BYTES
  } catch {
    return false
  }
}
