import type { FastifyInstance } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  administeredProject,
  administeredRule,
  PREVIEW_DAYS,
  previewRule,
} from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { personOnly } from '../request/credentials.ts'
import * as shapes from '../request/shapes.ts'
import { conditionOf, counted, previewShape, refuseMismatch } from './rule-shapes.ts'

/** How often rules would have mailed (contract §7): for a project's owner and administrators. */
export function rulePreviewRoutes(app: FastifyInstance, { sql, now }: Services): void {
  const routes = app.withTypeProvider<ZodTypeProvider>()
  const tags = ['rules']

  routes.post(
    '/api/projects/:slug/rules/preview',
    {
      ...personOnly,
      schema: {
        tags,
        summary: `How often a rule that is not made yet would have mailed in the last ${PREVIEW_DAYS} days`,
        params: z.object({ slug: z.string() }),
        querystring: shapes.nothing,
        // A whole rule may be sent: what does not bear on the count is not looked at.
        body: z.object(counted),
        response: { 200: previewShape },
      },
    },
    async (request) => {
      const project = await administeredProject(sql, await request.person(), request.params.slug)
      const { trigger, cooldown_s } = request.body
      const rule = { trigger, cooldown_s, condition: conditionOf(request.body.condition) }
      refuseMismatch(rule)
      return previewRule(sql, project.key, rule, now())
    },
  )

  routes.get(
    '/api/rules/:id/preview',
    {
      ...personOnly,
      schema: {
        tags,
        params: shapes.byId,
        querystring: shapes.nothing,
        summary: `How often the rule would have mailed in the last ${PREVIEW_DAYS} days, had it been there`,
        response: { 200: previewShape },
      },
    },
    async (request) => {
      const { rule, project } = await administeredRule(sql, await request.person(), request.params.id)
      return previewRule(sql, project.key, rule, now())
    },
  )
}
