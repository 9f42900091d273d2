import { useQuery } from '@tanstack/react-query'
import type { AsyncBuffer, Compressors, FileMetaData } from 'hyparquet'
import { errorText, getBytes } from '../lib/api/request.ts'
import { bytesText, count } from '../lib/words.ts'
import { ShownTable } from '../media/table-content.tsx'
import type { TableData } from '../media/table-rows.ts'
import type { Content } from '../media/use-content.ts'
import { Failure } from '../ui/notice.tsx'

const MAX_ROWS = 1_000
/** A group of rows is read whole. */
const MAX_BYTES = 64 * 1024 * 1024
const MAX_COLUMNS = 200
/** What `hyparquet` itself reads. */
const OWN_CODECS = ['UNCOMPRESSED', 'SNAPPY']
const CODECS = [...OWN_CODECS, 'GZIP', 'ZSTD', 'BROTLI', 'LZ4', 'LZ4_RAW']

interface Shown {
  table: TableData
  rows: number
  columns: number
  /** Why no rows are shown. */
  why: string | undefined
}

/** The first rows of a Parquet file. Only its end, which has the schema, and the pages of these rows are read. */
export function ParquetContent({ content, name }: { content: Content; name: string }) {
  const { url, sha256, size } = content
  const read = useQuery({
    queryKey: ['parquet', url, sha256],
    queryFn: ({ signal }) => readParquet(url, size, signal),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  })
  if (read.error) return <Failure>It cannot be read as Parquet: {errorText(read.error)}</Failure>
  if (read.data === undefined) return <div className="pulse h-40 rounded-md bg-surface" />
  const { table, rows, columns, why } = read.data
  return (
    <>
      {why === undefined ? <ShownTable table={table} name={name} /> : <Schema table={table} name={name} />}
      <p className="text-xs text-muted">
        {why ??
          (table.rows.length < rows
            ? `The first ${count(table.rows.length)} of ${count(rows)} rows`
            : `${count(rows)} rows`)}
        {columns > table.columns.length && `; the first ${MAX_COLUMNS} of ${count(columns)} columns`}
      </p>
    </>
  )
}

const Schema = ({ table, name }: { table: TableData; name: string }) => (
  <ul aria-label={`Columns of ${name}`} className="columns-3xs font-mono text-xs">
    {table.columns.map((column) => (
      <li key={column} className="truncate">
        {column}
      </li>
    ))}
  </ul>
)

async function readParquet(url: string, size: number, signal: AbortSignal): Promise<Shown> {
  const { cachedAsyncBuffer, parquetMetadataAsync, parquetReadObjects, parquetSchema, toJson } = await import(
    'hyparquet'
  )
  const file: AsyncBuffer = cachedAsyncBuffer({
    byteLength: size,
    slice: (from, to = size) => getBytes(url, '*/*', signal, `bytes=${from}-${to - 1}`),
  })
  const metadata = await parquetMetadataAsync(file)
  const rows = Number(metadata.num_rows)
  const all = parquetSchema(metadata).children.map(({ element }) => element.name)
  const columns = all.slice(0, MAX_COLUMNS)
  const why = whyNot(metadata)
  const read = { file, metadata, columns, rowEnd: MAX_ROWS }
  const found =
    why === undefined ? await parquetReadObjects({ ...read, compressors: await decompressors(metadata) }) : []
  const data = found.map((row) => columns.map((column) => toJson(row[column])))
  return { table: { columns, rows: data }, rows, columns: all.length, why }
}

/** The library for further codecs, if the file needs one. A page of the file must not claim more than fits. */
async function decompressors(metadata: FileMetaData): Promise<Compressors> {
  if (otherCodec(metadata, OWN_CODECS) === undefined) return {}
  const { decompressBrotli, decompressGzip, decompressLz4, decompressLz4Raw, decompressZstd } = await import(
    'hyparquet-compressors'
  )
  const bounded =
    (decompress: Decompress): Decompress =>
    (input, length) => {
      if (length > MAX_BYTES) throw new Error(`a page of ${bytesText(length)} is too large`)
      return decompress(input, length)
    }
  return {
    GZIP: bounded(decompressGzip),
    ZSTD: bounded((input, length) => decompressZstd(input, new Uint8Array(length))),
    BROTLI: bounded(decompressBrotli),
    LZ4: bounded(decompressLz4),
    LZ4_RAW: bounded(decompressLz4Raw),
  }
}

type Decompress = (input: Uint8Array, outputLength: number) => Uint8Array

const otherCodec = ({ row_groups: [first] }: FileMetaData, known: readonly string[]): string | undefined =>
  first?.columns.find(({ meta_data: of }) => of && !known.includes(of.codec))?.meta_data?.codec

function whyNot(metadata: FileMetaData): string | undefined {
  const [first] = metadata.row_groups
  const codec = otherCodec(metadata, CODECS)
  if (codec !== undefined) return `Its rows are compressed with ${codec}: download it.`
  const bytes = Number(first?.total_byte_size ?? 0)
  return bytes > MAX_BYTES ? `Its rows are in groups of ${bytesText(bytes)}: download it.` : undefined
}
