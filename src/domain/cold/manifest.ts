import { createHash } from 'node:crypto'
import { z } from 'zod'
import { Problem } from '../../problem.ts'
import type { ObjectStore } from '../../storage/index.ts'
import { type Column, TABLES, textOf, type Value } from './columns.ts'
import { createEpochValues, restoreChunks, restoreEvents } from './derived.ts'
import { readParquet } from './parquet.ts'
import { createPoints, restoreValues } from './points.ts'

/** What an archived batch consists of; `manifest.json` beside its files, written last. */
const manifestShape = z.object({
  /** 1: each row as the table has it. 2: without what follows from epochs (derived.ts). 3: epochs without what follows from points. */
  format: z.literal([1, 2, 3]),
  /** The newest migration of the database that it came from. */
  schema: z.string(),
  archived_at: z.string(),
  batch: z.object({
    key: z.number(),
    id: z.string(),
    project: z.string(),
    started_at: z.string(),
    ended_at: z.string().nullable(),
  }),
  jobs: z.array(z.object({ key: z.number(), id: z.string(), series: z.array(z.string()) })),
  files: z.array(
    z.object({
      name: z.string(),
      /** Null: no rows of a table, but points or templates, for those who read the files. */
      table: z.enum(TABLES).nullable(),
      columns: z.array(z.object({ name: z.string(), kind: z.string(), type: z.string() })),
      /** Columns that the table does not have: how what is not here follows from the others. */
      extra: z.array(z.object({ name: z.string(), kind: z.string(), type: z.string() })).default([]),
      recipes: z.array(z.string()).default([]),
      /** As `content`, of the rows as they are restored; without it they are what the file holds. */
      restored: z.string().optional(),
      rows: z.number(),
      bytes: z.number(),
      sha256: z.string(),
      /** Of the texts of all values, row by row (`digestOf`): the same before they were written and after they were read. */
      content: z.string(),
      /** The least and greatest of some columns, as text. */
      ranges: z.record(z.string(), z.tuple([z.string(), z.string()])),
    }),
  ),
})
export type Manifest = z.output<typeof manifestShape>
export type ArchivedFile = Manifest['files'][number]

export const MANIFEST = 'manifest.json'
export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

/** @param values by column, of equal length */
export function digestOf(values: readonly (readonly Value[])[]): string {
  const hash = createHash('sha256')
  const rows = values[0]?.length ?? 0
  let text = ''
  for (let row = 0; row < rows; row++) {
    for (const column of values) {
      const value = textOf(column[row] as Value)
      // A length before each text: no two rows share their characters.
      text += value === null ? '-;' : `${value.length}:${value}`
    }
    if (text.length > 1_000_000) {
      hash.update(text)
      text = ''
    }
  }
  return hash.update(text).digest('hex')
}

/** An object that is missing, or is not what was written. */
export class DamagedArchive extends Problem {
  constructor(object: string, what: string) {
    super('archive_unreadable', { detail: `The archived object ${object} ${what}` })
  }
}

/** All that reading an archive needs of its store. */
export type Readable = Pick<ObjectStore, 'get'>

/**
 * The objects of an archive, the manifest last.
 * @throws DamagedArchive when one is missing
 */
export async function* objectsOf(
  store: Readable,
  location: string,
): AsyncGenerator<{ name: string; content: Buffer }> {
  const get = async (name: string): Promise<Buffer> => {
    const content = await store.get(name)
    if (content === undefined) throw new DamagedArchive(name, 'is missing')
    return content
  }
  const manifest = await get(`${location}/${MANIFEST}`)
  const { files } = manifestShape.parse(JSON.parse(manifest.toString()))
  for (const file of files) {
    const name = `${location}/${file.name}`
    yield { name, content: await get(name) }
  }
  yield { name: `${location}/${MANIFEST}`, content: manifest }
}

export async function readManifest(store: Readable, location: string, expected: string): Promise<Manifest> {
  const name = `${location}/${MANIFEST}`
  const bytes = await store.get(name)
  if (bytes === undefined) throw new DamagedArchive(name, 'is missing')
  if (sha256(bytes) !== expected) throw new DamagedArchive(name, 'does not have its checksum')
  return manifestShape.parse(JSON.parse(bytes.toString()))
}

/**
 * The rows that an archive restores, file by file, by the columns that the file names.
 * @throws DamagedArchive unless they are what the tables had
 */
export async function* readRows(
  store: Readable,
  location: string,
  { files, jobs }: Manifest,
): AsyncGenerator<{ file: ArchivedFile; values: Value[][] }> {
  const restore = createRestorer(jobs)
  for (const file of files) {
    const values = await readFileOf(store, location, file)
    restore(file, values)
    if (file.restored !== undefined) {
      values.length = file.columns.length
      if (digestOf(values) !== file.restored)
        throw new DamagedArchive(`${location}/${file.name}`, 'does not restore what was archived')
    }
    yield { file, values }
  }
}

/** Whether a file has points, from which epochs follow. */
export const isPoints = ({ name }: Pick<ArchivedFile, 'name'>): boolean => name.startsWith('metrics-')

/**
 * Puts back what the rows of a file lack because it follows from files before it, and keeps what those after it need. To be
 * called with the files in the order of the manifest.
 */
export function createRestorer(jobs: Manifest['jobs']): (file: ArchivedFile, values: Value[][]) => void {
  const points = createPoints(jobs)
  const known = createEpochValues()
  return ({ name, table, columns: own, extra, recipes, restored }, values) => {
    const columns = [...own, ...extra] as Column[]
    if (isPoints({ name })) points.add(columns, values)
    if (table === 'epochs' && restored !== undefined) restoreValues(columns, values, points)
    if (table === 'epochs') known.add(columns, values)
    if (table === 'events' && restored !== undefined) restoreEvents(columns, values, recipes, known)
    if (table === 'metric_chunks' && restored !== undefined) restoreChunks(columns, values, known)
  }
}

/** What a file holds, by column, those beside the table's last. */
export async function readFileOf(store: Readable, location: string, file: ArchivedFile): Promise<Value[][]> {
  const name = `${location}/${file.name}`
  const bytes = await store.get(name)
  if (bytes === undefined) throw new DamagedArchive(name, 'is missing')
  if (bytes.length !== file.bytes || sha256(bytes) !== file.sha256)
    throw new DamagedArchive(name, 'does not have its checksum')
  const values = await readParquet(bytes, [...file.columns, ...file.extra] as Column[])
  if (digestOf(values) !== file.content) throw new DamagedArchive(name, 'does not hold what was written')
  return values
}

/** Whether an object of an archive is missing or has another size, in a sentence; its content is not read. */
export async function faultOf(
  store: ObjectStore,
  { location, manifestSha256 }: { location: string; manifestSha256: string | null },
): Promise<string | undefined> {
  if (manifestSha256 === null) return undefined
  const manifest = await readManifest(store, location, manifestSha256).catch((error: Error) => {
    if (error instanceof DamagedArchive) return error.message
    throw error
  })
  if (typeof manifest === 'string') return manifest
  for (const { name, bytes } of manifest.files)
    if ((await store.sizeOf(`${location}/${name}`)) !== bytes)
      return `${location}/${name} is missing or has another size`
  return undefined
}
