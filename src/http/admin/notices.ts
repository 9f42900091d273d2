import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { openRegistrationWarning } from '../../config.ts'
import type { Services } from '../../services.ts'
import { administratorOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'

/** Notices for administrators about the configuration of the service. */
export function noticeRoutes(app: FastifyInstance, { config }: Services): void {
  app.withTypeProvider<ZodTypeProvider>().get(
    '/api/admin/notices',
    {
      ...administratorOnly,
      schema: {
        tags: ['administration'],
        summary: 'Settings that an administrator should review',
        querystring: shapes.nothing,
        response: { 200: z.object({ items: z.array(z.object({ code: z.string(), detail: z.string() })) }) },
      },
    },
    async () => {
      const detail = openRegistrationWarning(config)
      return { items: detail === undefined ? [] : [{ code: 'open_registration', detail }] }
    },
  )
}
