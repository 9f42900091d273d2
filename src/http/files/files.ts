import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { entryOf } from '../../checked.ts'
import { visibleBatch } from '../../domain/access.ts'
import { cursorOf } from '../../domain/cursors.ts'
import {
  declareFiles,
  deleteFile,
  fileUrl,
  findFile,
  listFiles,
  placeContent,
  requireSender,
  uploadUrl,
  WIDTHS,
  writableBatch,
} from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { filterText } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { sendContent } from './content-answer.ts'
import { declarations, declaredFiles, fileShape, MAX_LIST_BYTES } from './file-shapes.ts'
import { MAX_ZIP_FILES, sendZip } from './zip.ts'

const tags = ['files']
/** Tokens that send events. */
export const sendersOnly = {
  onRequest: async (request: FastifyRequest) => void requireSender(await request.caller()),
}
const filesQuery = z.strictObject({
  ...pageQuery,
  prefix: filterText.optional().describe('Only paths that begin with it'),
  job_id: filterText.optional().describe('Only files of this job'),
})
const byPath = z.object({ id: z.string(), '*': z.string() })
export const download = z.strictObject({
  download: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: as an attachment, also what browsers may show'),
  frame: z
    .enum(['true', 'false'])
    .optional()
    .describe('`true`: HTML and SVG (by name, up to 10 MiB) for a frame of the page, without scripts'),
  width: z
    .enum(WIDTHS)
    .optional()
    .describe(
      'A copy of a PNG, JPEG or WebP image that is so wide at most, in WebP; the image itself if there is none',
    ),
})

/** The files of a batch (contract §11 "Files"). */
export function fileRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [declareFilesRoute, deleteFileRoute])
  addRoutes(app, filesOfBatch(services), FILE_ROUTES)
}

/** How many bytes the disk of the files can take. @throws Problem storage_unavailable */
export const freeBytes = ({ files }: Pick<Services, 'files'>): Promise<number | undefined> =>
  files
    .open()
    .then((store) => store.freeBytes())
    .catch((cause) => {
      throw new Problem('storage_unavailable', { cause })
    })

function declareFilesRoute(routes: Routes, services: Services): void {
  const { config, writer, now } = services
  routes.post(
    '/api/batches/:id/files',
    {
      ...sendersOnly,
      bodyLimit: MAX_LIST_BYTES,
      schema: {
        tags,
        summary: 'Declare files of a batch; with a reporter token',
        description:
          'Content that the project has is attached at once. Send the rest to its `upload_url` with the tus protocol 1.0.0.',
        params: shapes.byId,
        querystring: shapes.nothing,
        body: declarations,
        response: {
          200: z.object({
            items: z.array(
              z.object({
                path: z.string(),
                sha256: z.string(),
                state: z.enum(['stored', 'missing']),
                upload_url: z.string().nullable().describe('Null if the content is stored'),
              }),
            ),
          }),
        },
      },
    },
    async (request) => {
      const caller = requireSender(await request.caller())
      const files = declaredFiles(request.body)
      const free = await freeBytes(services)
      const places = await commit(writer, async (tx) => {
        const batch = await writableBatch(tx, caller, request.params.id)
        const owner = { projectKey: batch.projectKey, userId: caller.user.id }
        const places = await placeContent(tx, owner, files, { limits: config.files, free, now: now() })
        return { result: places, changes: await declareFiles(tx, batch, files, places, now()) }
      })
      return {
        items: files.map(({ path, sha256 }) => {
          const upload_url = uploadUrl(entryOf(places, sha256))
          return {
            path,
            sha256,
            state: upload_url === null ? ('stored' as const) : ('missing' as const),
            upload_url,
          }
        }),
      }
    },
  )
}

const filesCursor = cursorOf('files', z.string())

/** A batch whose files are read. */
interface Shown {
  batchKey: number
  /** The address of its files. */
  folder: string
  /** The name of a ZIP of them. */
  zip: string
}

/** Where files and media are read: of a batch, or through a link. */
export interface FilesPlace extends Services {
  path: '/api/batches/:id' | '/api/shared/:token'
  options: Partial<typeof readersOnly>
  schema: { tags: string[]; security?: never[]; params: z.ZodObject }
  /** Which files, for the documentation. */
  which: string
  /** Null if none are shown. */
  find: (request: FastifyRequest, reply: FastifyReply) => Promise<Shown | null>
}

export const filesOfBatch = (services: Services): FilesPlace => ({
  ...services,
  path: '/api/batches/:id',
  options: readersOnly,
  schema: { tags, params: shapes.byId },
  which: 'of a batch',
  async find(request) {
    const { id } = request.params as z.output<typeof shapes.byId>
    const batch = await visibleBatch(services.sql, await request.caller(), id)
    const folder = `/api/batches/${encodeURIComponent(batch.id)}/files`
    return { batchKey: batch.key, folder, zip: `${batch.id}.zip` }
  },
})

function listFilesRoute(routes: Routes, { sql, path, options, schema, which, find }: FilesPlace): void {
  const own = {
    ...schema,
    summary: `The files ${which} whose content has arrived, ordered by path`,
    querystring: filesQuery,
    response: { 200: pageOf(fileShape) },
  }
  routes.get(`${path}/files`, { ...options, schema: own }, async (request, reply) => {
    const shown = await find(request, reply)
    if (shown === null) return { items: [], next_cursor: null }
    const { limit, cursor, prefix, job_id: jobId } = request.query
    const filter = { prefix, jobId, after: filesCursor.read(cursor), limit: limit + 1 }
    const found = await listFiles(sql, shown.batchKey, filter)
    const { rows, next_cursor } = pageFrom(found, limit, filesCursor, (file) => file.path)
    return { items: rows.map((file) => ({ ...file, url: fileUrl(shown.folder, file.path) })), next_cursor }
  })
}

const { prefix, job_id } = filesQuery.shape

function zipRoute(routes: Routes, { path, options, schema, which, find, ...services }: FilesPlace): void {
  const own = {
    ...schema,
    summary: `All files ${which}, or of a folder, as one ZIP`,
    querystring: z.strictObject({ prefix, job_id }),
    description: `Uncompressed, with a \`Content-Length\`. At most ${MAX_ZIP_FILES} files: more need a \`prefix\`.`,
    produces: ['application/zip'],
  }
  routes.get(`${path}/files.zip`, { ...options, compress: false, schema: own }, async (request, reply) => {
    const shown = await find(request, reply)
    if (shown === null) throw new Problem('file_not_found')
    const { prefix, job_id: jobId } = request.query
    return sendZip({ request, reply }, services, shown.batchKey, { name: shown.zip, prefix, jobId })
  })
}

/** What the routes of bytes have in common. */
export const bytes = {
  compress: false,
  schema: {
    tags,
    querystring: download,
    description:
      'The `ETag` is the SHA-256, and `Range` works. Images, sound and video that browsers may show have the type of their content. All else is an attachment that runs nothing.',
    produces: ['application/octet-stream'],
  },
} as const

/** The last part of a path: what a download is called. */
export const nameOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1)

function readFileRoute(
  routes: Routes,
  { path, options, schema, which, find, ...services }: FilesPlace,
): void {
  const own = {
    ...bytes.schema,
    ...schema,
    summary: `The bytes of a file ${which}`,
    params: schema.params.extend({ '*': z.string() }),
  }
  routes.get(`${path}/files/*`, { ...options, ...bytes, schema: own }, async (request, reply) => {
    const { '*': name } = request.params as { '*': string }
    const shown = await find(request, reply)
    const content = shown === null ? undefined : await findFile(services.sql, shown.batchKey, name)
    if (content === undefined) throw new Problem('file_not_found')
    const { download, width } = request.query
    const as = { name: nameOf(name), download: download === 'true', width }
    return sendContent({ request, reply }, services, content, as)
  })
}

/** The files, all as a ZIP, and the bytes of one. */
export const FILE_ROUTES = [listFilesRoute, zipRoute, readFileRoute]

function deleteFileRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/batches/:id/files/*',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Delete a file; its content goes a day after nothing else refers to it',
        params: byPath,
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id: batchId, '*': path } = request.params
      await commit(writer, (tx) => deleteFile(tx, caller, { batchId, path }, now()))
      return reply.code(204).send(null)
    },
  )
}
