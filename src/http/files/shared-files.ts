import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { findFile } from '../../domain/files/index.ts'
import { openShare } from '../../domain/shares/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { pageOf } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { sendContent } from './content-answer.ts'
import { fileShape } from './file-shapes.ts'
import { bytes, filesPage, filesQuery, nameOf, zipped } from './files.ts'
import { MEDIA_ROUTES, type MediaPlace } from './media.ts'
import { sendZip } from './zip.ts'

const shared = { tags: ['shares'], security: [], params: z.object({ token: z.string() }) }
const NOTHING = { items: [], next_cursor: null }

/** Files and media that a public link shows: those of an anonymous one only if its creator chose so (contract §11 "Files"). */
export function sharedFileRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [sharedFilesRoute, sharedZipRoute, sharedFileRoute])
  const ofLink: MediaPlace = {
    ...services,
    path: '/api/shared/:token/media',
    options: {},
    schema: shared,
    which: 'that a link shows',
    async find(request, reply) {
      const { token } = request.params as z.output<typeof shared.params>
      const batchKey = await filesShown(services, token, reply)
      return batchKey === null ? null : { batchKey, folder: folderOf(token) }
    },
  }
  addRoutes(app, ofLink, MEDIA_ROUTES)
}

/**
 * @returns the key of the batch; null if the share shows no files
 * @throws Problem share_not_found
 */
async function filesShown(
  { sql, now }: Services,
  token: string,
  reply: FastifyReply,
): Promise<number | null> {
  const share = await openShare(sql, token, now())
  if (share === undefined) throw new Problem('share_not_found')
  reply.header('referrer-policy', 'no-referrer')
  return share.files ? share.batchKey : null
}

const folderOf = (token: string): string => `/api/shared/${token}/files`

function sharedFilesRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/files',
    {
      schema: {
        ...shared,
        summary: 'The files that a link shows, ordered by path',
        querystring: filesQuery,
        response: { 200: pageOf(fileShape) },
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const batch = await filesShown(services, token, reply)
      return batch === null ? NOTHING : filesPage(services, batch, folderOf(token), request.query)
    },
  )
}

function sharedZipRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/files.zip',
    {
      compress: false,
      schema: {
        ...zipped.schema,
        ...shared,
        summary: 'All files that a link shows, or a folder, as one ZIP',
      },
    },
    async (request, reply) => {
      const batch = await filesShown(services, request.params.token, reply)
      if (batch === null) throw new Problem('file_not_found')
      const { prefix, job_id: jobId } = request.query
      return sendZip({ request, reply }, services, batch, { name: 'files.zip', prefix, jobId })
    },
  )
}

function sharedFileRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/files/*',
    {
      compress: false,
      schema: {
        ...bytes.schema,
        ...shared,
        summary: 'The bytes of a file that a link shows',
        params: z.object({ token: z.string(), '*': z.string() }),
      },
    },
    async (request, reply) => {
      const { token, '*': path } = request.params
      const batch = await filesShown(services, token, reply)
      const content = batch === null ? undefined : await findFile(services.sql, batch, path)
      if (content === undefined) throw new Problem('file_not_found')
      const { download, width } = request.query
      const as = { name: nameOf(path), download: download === 'true', width }
      return sendContent({ request, reply }, services, content, as)
    },
  )
}
