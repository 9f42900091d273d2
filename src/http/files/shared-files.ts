import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { openShare } from '../../domain/shares/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { addRoutes } from '../request/routes.ts'
import { FILE_ROUTES, type FilesPlace } from './files.ts'
import { MEDIA_ROUTES } from './media.ts'

const byToken = z.object({ token: z.string() })

/** Files and media that a public link shows: those of an anonymous one only if its creator chose so (contract §11 "Files"). */
export function sharedFileRoutes(app: FastifyInstance, services: Services): void {
  const { sql, now } = services
  const ofLink: FilesPlace = {
    ...services,
    path: '/api/shared/:token',
    options: {},
    schema: { tags: ['shares'], security: [], params: byToken },
    which: 'that a link shows',
    async find(request, reply) {
      const { token } = request.params as z.output<typeof byToken>
      const share = await openShare(sql, token, now())
      if (share === undefined) throw new Problem('share_not_found')
      reply.header('referrer-policy', 'no-referrer')
      if (!share.files) return null
      return { batchKey: share.batchKey, folder: `/api/shared/${token}/files`, zip: 'files.zip' }
    },
  }
  addRoutes(app, ofLink, [...FILE_ROUTES, ...MEDIA_ROUTES])
}
