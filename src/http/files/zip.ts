import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { ZipFile } from 'yazl'
import { entriesOf, type FileEntry, type FileFilter } from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { sendFile } from '../server/file-answer.ts'
import { openedContent, streamParts } from './content-answer.ts'

/** Their names are in memory until the end of the answer. */
export const MAX_ZIP_FILES = 10_000

/**
 * Sends the files of a batch as one ZIP, with their paths, uncompressed: most of them are images or checkpoints, and so the
 * length is known before. Each file is opened when the one before it was sent. The answer breaks off, shorter than its
 * length, if the store fails later.
 * @throws Problem file_not_found, invalid_query for more files than a ZIP gets, storage_unavailable
 */
export async function sendZip(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { sql, files }: Pick<Services, 'sql' | 'files'>,
  batchKey: number,
  { name, ...filter }: { name: string } & FileFilter,
): Promise<FastifyReply> {
  const entries = await entriesOf(sql, batchKey, { ...filter, limit: MAX_ZIP_FILES + 1 })
  if (entries.length > MAX_ZIP_FILES)
    throw new Problem('invalid_query', {
      errors: [{ path: 'prefix', message: `must leave at most ${MAX_ZIP_FILES} files: choose a folder` }],
    })
  if (entries.length === 0) throw new Problem('file_not_found')
  // Before the headers, so that a store that cannot be reached is a refusal. It has no empty objects.
  const first = entries.find(({ size }) => size > 0)
  if (first !== undefined) (await openedContent(files, first)).destroy()
  const { bytes, size } = zipOf(entries, files)
  reply.header('cache-control', 'private, no-store').header('content-length', size)
  const isHead = request.method === 'HEAD'
  if (isHead) bytes.destroy()
  return sendFile(reply, 'application/zip', name, isHead ? nothing() : streamParts(bytes))
}

async function* nothing(): AsyncGenerator<Buffer> {}

function zipOf(entries: readonly FileEntry[], files: Services['files']): { bytes: Readable; size: number } {
  const zip = new ZipFile()
  const output = zip.outputStream as Readable
  const fail = (error: Error): void => void output.destroy(error)
  let source: Readable | undefined
  output.on('close', () => source?.destroy())
  zip.on('error', fail)
  for (const entry of entries) {
    const options = { size: entry.size, mtime: new Date(entry.created_at), compress: false, mode: 0o100644 }
    zip.addReadStreamLazy(entry.path, options, (open) => {
      const opening = entry.size === 0 ? Promise.resolve(Readable.from([])) : openedContent(files, entry)
      opening.then((bytes) => {
        source = bytes.on('error', fail)
        if (output.destroyed) bytes.destroy()
        else open(null, bytes)
      }, fail)
    })
  }
  let size = 0
  // It has the size as its argument, which the types of the package leave out.
  zip.end(undefined, ((total: number) => {
    size = total
  }) as () => void)
  return { bytes: output, size }
}
