import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject, visibleProjectKeys } from '../../domain/access.ts'
import type { Caller } from '../../domain/caller.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import {
  changeReport,
  createReport,
  deleteReport,
  linkReport,
  listReports,
  openReport,
  reportById,
  reportFields,
  revokeLinks,
} from '../../domain/reports/index.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit, write } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { publicAddress } from '../request/public-address.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const reportShape = shapeOf(reportFields)
const cursor = cursorOf('reports', creationPosition)
const body = z
  .string()
  .max(100_000, 'must be at most 100,000 characters')
  .refine(isStorable, 'must be without NUL characters and lone surrogates')
const tags = ['reports']
const one = { tags, params: shapes.byId, querystring: shapes.nothing }

/** Reports (docs/api.md "Reports"). */
export function reportRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    listReportsRoute,
    createReportRoute,
    readReportRoute,
    changeReportRoute,
    deleteReportRoute,
    linkReportRoute,
    revokeLinksRoute,
    revokeLinkRoute,
    openReportRoute,
  ])
}

async function showReport({ sql, prisma }: Services, caller: Caller, id: string) {
  const report = await reportById(prisma, caller, { visible: await visibleProjectKeys(sql, caller, []), id })
  if (report === undefined) throw new Problem('report_not_found')
  return report
}

function listReportsRoute(routes: Routes, { sql, prisma }: Services): void {
  routes.get(
    '/api/reports',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'Reports of the projects that I can see, newest first, without their texts',
        querystring: z.strictObject({
          ...pageQuery,
          project: z.string().optional().describe('Slug: the reports of this project only'),
        }),
        response: { 200: pageOf(reportShape.omit({ body: true })) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const { limit, project: slug, cursor: text } = request.query
      const visible =
        slug === undefined
          ? await visibleProjectKeys(sql, caller, [])
          : [(await visibleProject(sql, caller, slug)).key]
      const page = { limit: limit + 1, after: cursor.read(text), withBody: false }
      const found = await listReports(prisma, caller, { visible }, page)
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: rows.map(({ body: _, ...report }) => report), next_cursor }
    },
  )
}

function createReportRoute(routes: Routes, services: Services): void {
  const { config, writer, now } = services
  routes.post(
    '/api/reports',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Write a report into a project whose batches I may edit',
        querystring: shapes.nothing,
        body: z.strictObject({
          title: shapes.label,
          body: body.default(''),
          project: z.string().describe('Slug'),
        }),
        response: { 201: reportShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const id = await write(writer, (tx) =>
        createReport(tx, caller, request.body, config.quotas.reports, now()),
      )
      return reply.code(201).send(await showReport(services, caller, id))
    },
  )
}

function readReportRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/reports/:id',
    { ...readersOnly, schema: { ...one, summary: 'A report', response: { 200: reportShape } } },
    async (request) => showReport(services, await request.caller(), request.params.id),
  )
}

function changeReportRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.patch(
    '/api/reports/:id',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Change a report; for users who may edit batches of its project',
        body: z.strictObject({ title: shapes.label, body }).partial(),
        response: { 200: reportShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { id } = request.params
      await write(writer, (tx) => changeReport(tx, caller, id, request.body, now()))
      return showReport(services, caller, id)
    },
  )
}

function deleteReportRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/reports/:id',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: "Delete a report with its links; for its author and the project's owner",
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, async (tx) => ({
        result: undefined,
        changes: await deleteReport(tx, caller, request.params.id, now()),
      }))
      return reply.code(204).send(null)
    },
  )
}

function linkReportRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.post(
    '/api/reports/:id/links',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Create a public link to a report; its token is shown only once',
        description:
          'The link shows the current text, and each batch that the report embeds now and that I may share.',
        body: z
          .strictObject({ embed: z.boolean().default(false).describe('Lets other sites show the report') })
          .nullish(),
        response: {
          201: z.object({
            url: z.string(),
            token: z.string(),
            batches: z.array(z.string()).describe('The batches that the link opens'),
          }),
        },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const made = await commit(writer, (tx) =>
        linkReport(
          tx,
          caller,
          request.params.id,
          { most: config.quotas.shares, embed: request.body?.embed === true },
          now(),
        ),
      )
      return reply.code(201).send({ url: `${publicAddress(config, request)}/sr/${made.token}`, ...made })
    },
  )
}

function revokeLinksRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/reports/:id/links',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Revoke every link to a report, and the access of these links to batches',
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, async (tx) => ({
        result: undefined,
        changes: await revokeLinks(tx, caller, request.params.id, now()),
      }))
      return reply.code(204).send(null)
    },
  )
}

function revokeLinkRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/reports/:id/links/:link',
    {
      ...personOnly,
      schema: {
        tags,
        querystring: shapes.nothing,
        summary: 'Revoke one link to a report, and its access to batches',
        params: shapes.byId.extend({ link: z.string() }),
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id, link } = request.params
      await commit(writer, async (tx) => ({
        result: undefined,
        changes: await revokeLinks(tx, caller, id, now(), link),
      }))
      return reply.code(204).send(null)
    },
  )
}

function openReportRoute(routes: Routes, { sql, now }: Services): void {
  routes.get(
    '/api/shared-reports/:token',
    {
      schema: {
        tags,
        summary: 'The report that a link opens, with a share token of each batch that it shows',
        security: [],
        params: z.object({ token: z.string() }),
        querystring: shapes.nothing,
        response: {
          200: z.object({
            title: z.string(),
            body: z.string(),
            updated_at: shapes.instant,
            batches: z.array(z.object({ id: z.string(), token: z.string() })),
          }),
        },
      },
    },
    async (request, reply) => {
      const report = await openReport(sql, request.params.token, now())
      if (report === undefined) throw new Problem('report_not_found')
      reply.header('referrer-policy', 'no-referrer')
      const { embed: _, ...shown } = report
      return shown
    },
  )
}
