import type { FastifyInstance, FastifyRequest } from 'fastify'
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
  type StoredFile,
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
export const filesQuery = z.strictObject({
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
  addRoutes(app, services, [declareFilesRoute, listFilesRoute, zipRoute, readFileRoute, deleteFileRoute])
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
const pathOf = ({ path }: StoredFile): string => path

/** One page of files, with their addresses below `folder`. */
export async function filesPage(
  { sql }: Pick<Services, 'sql'>,
  batchKey: number,
  folder: string,
  { limit, cursor, prefix, job_id: jobId }: z.output<typeof filesQuery>,
) {
  const filter = { prefix, jobId, after: filesCursor.read(cursor), limit: limit + 1 }
  const { rows, next_cursor } = pageFrom(await listFiles(sql, batchKey, filter), limit, filesCursor, pathOf)
  return { items: rows.map((file) => ({ ...file, url: fileUrl(folder, file.path) })), next_cursor }
}

function listFilesRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/files',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The files of a batch whose content has arrived, ordered by path',
        params: shapes.byId,
        querystring: filesQuery,
        response: { 200: pageOf(fileShape) },
      },
    },
    async (request) => {
      const batch = await visibleBatch(services.sql, await request.caller(), request.params.id)
      return filesPage(
        services,
        batch.key,
        `/api/batches/${encodeURIComponent(batch.id)}/files`,
        request.query,
      )
    },
  )
}

const { prefix, job_id } = filesQuery.shape
/** What the routes of all files as a ZIP have in common. */
export const zipped = {
  compress: false,
  schema: {
    tags,
    querystring: z.strictObject({ prefix, job_id }),
    description: `Uncompressed, with a \`Content-Length\`. At most ${MAX_ZIP_FILES} files: more need a \`prefix\`.`,
    produces: ['application/zip'],
  },
} as const

function zipRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/files.zip',
    {
      ...readersOnly,
      ...zipped,
      schema: {
        ...zipped.schema,
        summary: 'All files of a batch, or of a folder, as one ZIP',
        params: shapes.byId,
      },
    },
    async (request, reply) => {
      const batch = await visibleBatch(services.sql, await request.caller(), request.params.id)
      const { prefix, job_id: jobId } = request.query
      return sendZip({ request, reply }, services, batch.key, { name: `${batch.id}.zip`, prefix, jobId })
    },
  )
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

function readFileRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/batches/:id/files/*',
    { ...readersOnly, ...bytes, schema: { ...bytes.schema, summary: 'The bytes of a file', params: byPath } },
    async (request, reply) => {
      const { id, '*': path } = request.params
      const batch = await visibleBatch(services.sql, await request.caller(), id)
      const content = await findFile(services.sql, batch.key, path)
      if (content === undefined) throw new Problem('file_not_found')
      const { download, width } = request.query
      const as = { name: nameOf(path), download: download === 'true', width }
      return sendContent({ request, reply }, services, content, as)
    },
  )
}

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
