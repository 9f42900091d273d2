import { Suspense } from 'react'
import { errorText } from '../lib/api/request.ts'
import { served } from '../lib/served.ts'
import { bytesText } from '../lib/words.ts'
import { Player } from '../media/player.tsx'
import { Frame } from '../media/stored-content.tsx'
import { TextContent } from '../media/text-content.tsx'
import { type Content, useStart } from '../media/use-content.ts'
import { Failure } from '../ui/notice.tsx'
import { part } from '../ui/part.tsx'
import { nameOf } from './tree.ts'

const CsvContent = part(() => import('./csv-content.tsx').then((file) => file.CsvContent))

const ParquetContent = part(() => import('./parquet-content.tsx').then((file) => file.ParquetContent))

/** A file that can be shown. */
export interface ShownFile extends Content {
  path: string
  media_type: string
}

/** Files of these names have no text, and their first bytes are not worth a request. */
const OPAQUE =
  /\.(pt|pth|bin|ckpt|safetensors|onnx|pkl|pickle|npy|npz|h5|hdf5|zip|tar|gz|tgz|xz|zst|7z|arrow|so|whl|exe|pdf)$/i
/** Larger images are not loaded unasked. */
const MAX_IMAGE = 64 * 1024 * 1024

/** What a file contains, of large ones the beginning. */
export function Preview({ file }: { file: ShownFile }) {
  const name = nameOf(file.path)
  const { media_type: type } = file
  if (file.size === 0) return <p className="text-muted">The file is empty.</p>
  if (type.startsWith('image/') && type !== 'image/svg+xml')
    return file.size > MAX_IMAGE ? (
      <p className="text-muted">This image has {bytesText(file.size)}: download it.</p>
    ) : (
      <img
        src={served(file.url)}
        alt={name}
        decoding="async"
        className="max-h-[36rem] max-w-full rounded-md border border-line bg-surface object-contain"
      />
    )
  if (type.startsWith('audio/')) return <Player kind="audio" url={file.url} name={name} />
  if (type.startsWith('video/')) return <Player kind="video" url={file.url} name={name} />
  if (/\.(html?|svg)$/i.test(name)) return <Frame url={file.url} name={name} />
  if (OPAQUE.test(name)) return <p className="text-muted">There is no preview of this kind of file.</p>
  if (/\.(parquet|pq)$/i.test(name))
    return (
      <Suspense fallback={<div className="h-40" />}>
        <ParquetContent content={file} name={name} />
      </Suspense>
    )
  if (/\.(csv|tsv)$/i.test(name) || type === 'text/csv')
    return (
      <Suspense fallback={<div className="h-40" />}>
        <CsvContent content={file} name={name} />
      </Suspense>
    )
  if (/\.(json|ipynb)$/i.test(name)) return <JsonContent content={file} name={name} />
  return <TextContent content={file} name={name} />
}

const MAX_JSON = 512 * 1024

/** JSON in lines; a large or invalid file as it was written. */
function JsonContent({ content, name }: { content: Content; name: string }) {
  const start = useStart(content, MAX_JSON)
  if (start.error) return <Failure>{errorText(start.error)}</Failure>
  if (start.data === undefined) return <div className="h-40" />
  const lines = content.size > MAX_JSON ? undefined : indented(start.data.text)
  if (lines === undefined) return <TextContent content={content} name={name} />
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      role="region"
      aria-label={name}
      className="max-h-[36rem] overflow-auto rounded-md border border-line bg-surface p-2 font-mono text-xs leading-5"
    >
      {lines}
    </pre>
  )
}

function indented(text: string): string | undefined {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return undefined
  }
}
