// A zip archive of some files, the same bytes for the same files: stored in the order given, dated 1980-01-01, mode 0644.
// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT (no ZIP64: 65,535 files and 4 GiB at most).
import { crc32 } from 'node:zlib'

const DATE_1980_01_01 = 0x0021
const REGULAR_0644 = (0o100644 << 16) >>> 0
const UTF8_NAMES = 0x0800
const MADE_BY_UNIX = 0x0314

/**
 * @param {{ path: string, bytes: Buffer }[]} entries
 * @returns {Buffer}
 */
export function zip(entries) {
  const files = []
  const directory = []
  let offset = 0
  for (const { path, bytes } of entries) {
    const name = Buffer.from(path, 'utf8')
    const crc = crc32(bytes)
    const local = Buffer.alloc(30)
    local.writeUInt32LE(0x04034b50, 0)
    local.writeUInt16LE(20, 4)
    local.writeUInt16LE(UTF8_NAMES, 6)
    local.writeUInt16LE(DATE_1980_01_01, 12)
    local.writeUInt32LE(crc, 14)
    local.writeUInt32LE(bytes.length, 18)
    local.writeUInt32LE(bytes.length, 22)
    local.writeUInt16LE(name.length, 26)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(0x02014b50, 0)
    central.writeUInt16LE(MADE_BY_UNIX, 4)
    central.writeUInt16LE(20, 6)
    central.writeUInt16LE(UTF8_NAMES, 8)
    central.writeUInt16LE(DATE_1980_01_01, 14)
    central.writeUInt32LE(crc, 16)
    central.writeUInt32LE(bytes.length, 20)
    central.writeUInt32LE(bytes.length, 24)
    central.writeUInt16LE(name.length, 28)
    central.writeUInt32LE(REGULAR_0644, 38)
    central.writeUInt32LE(offset, 42)
    files.push(local, name, bytes)
    directory.push(central, name)
    offset += local.length + name.length + bytes.length
  }
  const size = directory.reduce((sum, part) => sum + part.length, 0)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(entries.length, 8)
  end.writeUInt16LE(entries.length, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...files, ...directory, end])
}
