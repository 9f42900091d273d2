import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject } from '../../domain/access.ts'
import {
  administeredProject,
  administeredRule,
  PREVIEW_DAYS,
  previewRule,
} from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { conditionOf, counted, previewShape, refuseMismatch } from './rule-shapes.ts'

const tags = ['rules']

/** Previews: how often a rule would have sent mail (contract §7); for a project's owner and administrators. */
export function rulePreviewRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [previewNewRuleRoute, previewRuleRoute])
}

function previewNewRuleRoute(routes: Routes, { sql, now }: Services): void {
  routes.post(
    '/api/projects/:slug/rules/preview',
    {
      ...personOnly,
      schema: {
        tags,
        summary: `How many mails a rule that does not exist yet would have sent in the last ${PREVIEW_DAYS} days`,
        params: z.object({ slug: z.string() }),
        querystring: shapes.nothing,
        // A client may send the whole rule; fields that do not affect the count are ignored.
        body: z.object(counted),
        response: { 200: previewShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { trigger, cooldown_s, personal, own_runs } = request.body
      const project = await (personal ? visibleProject : administeredProject)(
        sql,
        caller,
        request.params.slug,
      )
      const ownerId = own_runs ? caller.user.id : null
      const rule = {
        trigger,
        cooldown_s,
        personal,
        own_runs,
        ownerId,
        condition: conditionOf(request.body.condition),
      }
      refuseMismatch(rule)
      return previewRule(sql, project.key, rule, now())
    },
  )
}

function previewRuleRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/rules/:id/preview',
    {
      ...personOnly,
      schema: {
        tags,
        params: shapes.byId,
        querystring: shapes.nothing,
        summary: `How many mails the rule would have sent in the last ${PREVIEW_DAYS} days`,
        response: { 200: previewShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { rule, project } = await administeredRule(sql, caller, request.params.id)
      const ownerId = rule.own_runs ? caller.user.id : null
      return previewRule(sql, project.key, { ...rule, ownerId }, now())
    },
  )
}
