import type { ObjectStore } from '../../storage/index.ts'
import { storeManifest, type Written } from './archive.ts'
import type { Column, Value } from './columns.ts'
import {
  type ArchivedFile,
  createRestorer,
  digestOf,
  isPoints,
  readFileOf,
  readManifest,
} from './manifest.ts'
import { storeFile } from './store-file.ts'
import { dropLines, isDue, type Kept, LINE } from './thaw.ts'

/** Columns of `events` from which the text of an event comes. */
const TEXTS = ['payload', 'packed', 'recipe', 'template']

/**
 * Copies an archive to another location, without log lines and texts of events that retention deletes by now. The
 * tables are not read.
 * @throws DamagedArchive when what is read is not what was written
 */
export async function copyUnexpired(
  store: ObjectStore,
  from: { location: string; manifestSha256: string },
  location: string,
  kept: Kept,
): Promise<Omit<Written, 'fingerprint' | 'gpu'>> {
  const manifest = await readManifest(store, from.location, from.manifestSha256)
  const jobIds = new Map(manifest.jobs.map(({ key, id }) => [key, id]))
  const restore = createRestorer(manifest.jobs)
  const files: ArchivedFile[] = []
  const oldest: Oldest = { line: null, other: null }
  for (const file of manifest.files) {
    const { name, table, recipes } = file
    const of = [...file.columns, ...file.extra] as Column[]
    if (table === 'events' || table === 'log_lines') {
      const values = await readFileOf(store, from.location, file)
      if (table === 'events') forgetTexts(of, values, kept, oldest)
      else dropLines(of, values, kept)
      if (values[0]?.length === 0) continue
      const columns = file.columns as Column[]
      const restored = file.restored === undefined ? undefined : restoredDigest(file, values, restore)
      files.push(
        await storeFile(
          { store, location, jobIds },
          { name, what: table, table, columns, extra: file.extra as Column[], values, recipes, restored },
        ),
      )
      continue
    }
    if (table === 'epochs' || isPoints(file)) restore(file, await readFileOf(store, from.location, file))
    const bytes = await store.get(`${from.location}/${name}`)
    // A missing object is found when all of them are read back.
    if (bytes !== undefined) await store.put(`${location}/${name}`, bytes)
    files.push(file)
  }
  return {
    location,
    manifestSha256: await storeManifest(store, location, { ...manifest, files }),
    bytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
    rows: files.reduce((sum, { table, rows }) => sum + (table === null ? 0 : rows), 0),
    oldestLine: oldest.line,
    oldestOther: oldest.other,
  }
}

interface Oldest {
  line: number | null
  other: number | null
}

function forgetTexts(
  columns: readonly Column[],
  values: readonly Value[][],
  kept: Kept,
  oldest: Oldest,
): void {
  const at = (name: string): Value[] => values[columns.findIndex((column) => column.name === name)] ?? []
  const [types, times] = [at('type'), at('ts') as number[]]
  const texts = columns.flatMap(({ name }, i) => (TEXTS.includes(name) ? [values[i] as Value[]] : []))
  for (const [row, time] of times.entries()) {
    if (texts.every((column) => column[row] == null)) continue
    const line = types[row] === LINE
    if (isDue(kept, line, time)) for (const column of texts) column[row] = null
    else {
      const kind = line ? 'line' : 'other'
      oldest[kind] = Math.min(oldest[kind] ?? Number.POSITIVE_INFINITY, time)
    }
  }
}

function restoredDigest(
  file: ArchivedFile,
  values: readonly Value[][],
  restore: ReturnType<typeof createRestorer>,
): string {
  const rows = values.map((column) => [...column])
  restore(file, rows)
  return digestOf(rows.slice(0, file.columns.length))
}
