/**
 * Events on disk (Node): one a line in `~/.svc-reporter/<batch>.<sender>.jsonl`, the folder and the form of the Python
 * reporter, so that `svc-reporter sync` also sends them. Each process has a file of its own. If another process takes it
 * to send it, this one goes on with a new file: events that arrive twice are stored once.
 */
import { createHash } from 'node:crypto'
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import type { Store } from './delivery.ts'

const FOLDER = '.svc-reporter'
/** As much of the file as is read at once; a line is an event of at most 256 KiB. */
const BLOCK_BYTES = 4 * 1024 * 1024
const OTHERS_WRITE = 0o022
/** Only a file of this user, and no link, is read or written. */
const NO_LINK = constants.O_NOFOLLOW ?? 0

export function openStore(batchId: string, sender: string): Store {
  return new SpillFile(spillFolder(), batchId, sender)
}

function spillFolder(): string {
  const place = process.env.SVC_REPORTER_DIR || homedir()
  return basename(place) === FOLDER ? place : join(place, FOLDER)
}

class SpillFile implements Store {
  private readonly folder: string
  private readonly path: string
  private readonly rejected: string
  /** Where in the file the lines begin that were not sent. */
  private at = 0
  private inode = 0
  /** Those that were read last. */
  private lines: string[] = []

  constructor(folder: string, batchId: string, sender: string) {
    this.folder = folder
    this.path = join(folder, `${safeName(batchId)}.${sender.slice(0, 8)}.jsonl`)
    this.rejected = join(folder, 'rejected')
  }

  append(lines: string[]): boolean {
    return write(this.folder, this.path, lines)
  }

  first(limit: number): string[] {
    this.lines = []
    try {
      const file = openOwn(this.path, constants.O_RDONLY)
      try {
        const { ino } = fstatSync(file)
        // Another process has taken the file that was read before.
        if (ino !== this.inode) this.at = 0
        this.inode = ino
        const block = Buffer.allocUnsafe(BLOCK_BYTES)
        const text = block.toString('utf8', 0, readSync(file, block, 0, BLOCK_BYTES, this.at))
        this.lines = text.split('\n').slice(0, -1).slice(0, limit)
      } finally {
        closeSync(file)
      }
    } catch {
      this.at = 0
    }
    return this.lines
  }

  sent(count: number): void {
    for (const line of this.lines.slice(0, count)) this.at += Buffer.byteLength(line) + 1
    if (this.first(1).length > 0) return
    this.at = 0
    try {
      unlinkSync(this.path)
    } catch {
      return // another process has taken it
    }
  }

  reject(lines: string[]): void {
    write(this.rejected, join(this.rejected, basename(this.path)), lines)
  }
}

function write(folder: string, path: string, lines: string[]): boolean {
  try {
    ownFolder(folder)
    const file = openOwn(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT)
    try {
      const content = Buffer.from(lines.map((line) => `${line}\n`).join(''))
      for (let at = 0; at < content.length; ) at += writeSync(file, content, at)
      // A process that took the file meanwhile may have read it before this was written: write it once more.
      const now = lstatSync(path, { throwIfNoEntry: false })
      return now?.ino === fstatSync(file).ino || write(folder, path, lines)
    } finally {
      closeSync(file)
    }
  } catch {
    return false // no room, no right: the events stay in the queue
  }
}

/** @throws Error if others could have put something there */
function ownFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const info = lstatSync(folder)
  if (!info.isDirectory() || isForeign(info.uid)) throw new Error(`${folder} is not this user's folder`)
  if (info.mode & OTHERS_WRITE && process.getuid) chmodSync(folder, info.mode & 0o755)
}

function openOwn(path: string, flags: number): number {
  const file = openSync(path, flags | NO_LINK, 0o600)
  const info = fstatSync(file)
  if (info.isFile() && !isForeign(info.uid) && !(process.getuid && info.mode & OTHERS_WRITE)) return file
  closeSync(file)
  throw new Error(`${path} is not this user's file`)
}

const isForeign = (uid: number): boolean => process.getuid !== undefined && uid !== process.getuid()

/** The id if it is a safe file name; else its escaped form with a hash, so that names stay unique. */
function safeName(batchId: string): string {
  if (/^\w[\w.-]{0,99}$/.test(batchId)) return batchId
  const digest = createHash('sha256').update(batchId).digest('hex').slice(0, 16)
  return `_${encodeURIComponent(batchId).replace(/[~.]/g, '-').slice(0, 60)}-${digest}`
}
