import { gunzipSync, gzipSync } from 'node:zlib'
import type { DecodedArray, SchemaElement } from 'hyparquet'
import type { Column, Kind, Value } from './columns.ts'

/** One Parquet file: some rows of a table, column by column. What holds it all in memory is the limit of its rows. */

/** As Python, DuckDB and Spark read it; gzip, since every reader knows it and Node has it. */
const ELEMENTS: Record<Exclude<Kind, 'doubles'>, Partial<SchemaElement>> = {
  int: { type: 'INT32' },
  long: { type: 'INT64' },
  double: { type: 'DOUBLE' },
  text: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
  bool: { type: 'BOOLEAN' },
  bytes: { type: 'BYTE_ARRAY' },
  instant: { type: 'INT64', converted_type: 'TIMESTAMP_MICROS' },
}

type Named = Pick<Column, 'name' | 'kind'>

function elementsOf({ name, kind }: Named): SchemaElement[] {
  if (kind !== 'doubles') return [{ name, repetition_type: 'OPTIONAL', ...ELEMENTS[kind] }]
  return [
    { name, repetition_type: 'OPTIONAL', converted_type: 'LIST', num_children: 1 },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    { name: 'element', type: 'DOUBLE', repetition_type: 'OPTIONAL' },
  ]
}

const asBigInt = (values: readonly Value[]): (bigint | null)[] =>
  values.map((value) => (value === null ? null : BigInt(value as number)))

/** @param values by column */
export async function writeParquet(
  columns: readonly Named[],
  values: readonly (readonly Value[])[],
  about: Record<string, string>,
): Promise<Buffer> {
  const { parquetWriteBuffer } = await import('hyparquet-writer')
  const schema: SchemaElement[] = [
    { name: 'root', num_children: columns.length },
    ...columns.flatMap(elementsOf),
  ]
  const bytes = parquetWriteBuffer({
    schema,
    codec: 'GZIP',
    compressors: { GZIP: (input) => gzipSync(input) },
    createdBy: 'svc',
    kvMetadata: Object.entries(about).map(([key, value]) => ({ key, value })),
    // All of a part: a reader opens a column at once.
    rowGroupSize: Math.max(1, values[0]?.length ?? 0),
    columnData: columns.map(({ name, kind }, i) => {
      const of = values[i] as readonly Value[]
      const whole = kind === 'long' || kind === 'instant'
      return {
        name,
        data: (whole ? asBigInt(of) : of) as DecodedArray,
        ...((whole || kind === 'int') && { encoding: 'DELTA_BINARY_PACKED' as const }),
        ...((kind === 'double' || kind === 'doubles') && { encoding: 'BYTE_STREAM_SPLIT' as const }),
      }
    }),
  })
  return Buffer.from(bytes)
}

/** @returns by column, the values as they were written; columns that are not named are passed over */
export async function readParquet(bytes: Buffer, columns: readonly Named[]): Promise<Value[][]> {
  const { parquetReadObjects } = await import('hyparquet')
  const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  const rows = await parquetReadObjects({
    file,
    columns: columns.map(({ name }) => name),
    utf8: false,
    compressors: { GZIP: (input) => gunzipSync(input) },
    parsers: { timestampFromMicroseconds: (micros: bigint) => micros },
  })
  return columns.map(({ name }) =>
    rows.map((row): Value => {
      const value: unknown = row[name]
      return typeof value === 'bigint' ? Number(value) : ((value ?? null) as Value)
    }),
  )
}
