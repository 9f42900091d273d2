import type { ObjectStore } from '../../storage/index.ts'
import type { Column, Value } from './columns.ts'
import { type ArchivedFile, digestOf, sha256 } from './manifest.ts'
import { writeParquet } from './parquet.ts'

/** Where files of an archive go, and the ids of its jobs by key. */
export interface Place {
  store: ObjectStore
  location: string
  jobIds: ReadonlyMap<number, string>
}

/** Writes one file. @returns its entry in the manifest */
export async function storeFile(
  { store, location, jobIds }: Place,
  file: Pick<ArchivedFile, 'name' | 'table' | 'recipes' | 'restored'> & {
    what: string
    columns: readonly Column[]
    extra: readonly Column[]
    values: Value[][]
  },
): Promise<ArchivedFile> {
  const { name, table, what, values, recipes, restored } = file
  const columns = [...file.columns, ...file.extra]
  // The id beside the key, for those who read the file.
  const named = table === null ? [] : [{ name: 'job_id', kind: 'text' as const }]
  const keys = values[columns.findIndex((column) => column.name === 'job_key')] ?? []
  const ids = keys.map((key) => jobIds.get(key as number) ?? null)
  const data = await writeParquet([...named, ...columns], named.length > 0 ? [ids, ...values] : values, {
    svc_format: '3',
    table: table ?? what,
  })
  await store.put(`${location}/${name}`, data)
  return {
    name,
    table,
    columns: [...file.columns],
    extra: [...file.extra],
    recipes,
    ...(restored !== undefined && { restored }),
    rows: values[0]?.length ?? 0,
    bytes: data.length,
    sha256: sha256(data),
    content: digestOf(values),
    ranges: rangesOf(columns, values),
  }
}

/** Of numbers and instants that rows are looked for by. */
function rangesOf(columns: readonly Column[], values: readonly (readonly Value[])[]): ArchivedFile['ranges'] {
  const ranges: ArchivedFile['ranges'] = {}
  for (const [i, { name, kind }] of columns.entries()) {
    if (!/^(db_id|ts|timestamp|epoch|step|first_epoch|job_key)$/.test(name)) continue
    let low = Number.POSITIVE_INFINITY
    let high = Number.NEGATIVE_INFINITY
    for (const value of values[i] as readonly Value[]) {
      if (typeof value !== 'number') continue
      if (value < low) low = value
      if (value > high) high = value
    }
    const shown = (value: number): string =>
      kind === 'instant' ? new Date(value / 1000).toISOString() : String(value)
    if (low <= high) ranges[name] = [shown(low), shown(high)]
  }
  return ranges
}
