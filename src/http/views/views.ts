import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject, visibleProjectKeys } from '../../domain/access.ts'
import type { Caller } from '../../domain/caller.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import {
  AUDIENCES,
  changeView,
  chosenColors,
  deleteView,
  listSavedViews,
  savedView,
  savedViewFields,
  saveView,
} from '../../domain/views/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const viewShape = shapeOf(savedViewFields)
const cursor = cursorOf('views', creationPosition)

/** Whether a browser opens exactly this path: it resolves `..`, also percent-encoded, before it asks for anything. */
function staysBelow(path: string): boolean {
  const [plain = ''] = path.split('?')
  return !plain.split('/').some((part) => /^(?:\.|%2e){1,2}$/i.test(part))
}

/** The path of a page of this service: no host, and nothing that a browser could read as one. */
const pagePath = z
  .string()
  .max(8192, 'must be at most 8,192 characters')
  .regex(
    /^\/(p|b|compare|hosts)(?![^/?])(?!\/\/)[^\s\\#\p{Cc}\p{Cs}]*$/u,
    'must be the path of a project, a batch, a comparison or the hosts, with its query',
  )
  .refine(staysBelow, 'must not contain `.` or `..` as a part of its path')
const colors = chosenColors.refine((given) => Object.keys(given).length <= 1000, 'at most 1,000 colors')
const audience = z.enum(AUDIENCES)
const tags = ['views']
const one = { tags, params: shapes.byId, querystring: shapes.nothing }

/** Saved views (docs/api.md "Saved views"). */
export function viewRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listViewsRoute, readViewRoute, saveViewRoute, changeViewRoute, deleteViewRoute])
}

const seenView = async ({ sql, prisma }: Services, caller: Caller, id: string) =>
  savedView(prisma, caller, { visible: await visibleProjectKeys(sql, caller, []), id })

async function showView(services: Services, caller: Caller, id: string) {
  const view = await seenView(services, caller, id)
  if (view === undefined) throw new Problem('view_not_found')
  return view
}

function listViewsRoute(routes: Routes, { sql, prisma }: Services): void {
  routes.get(
    '/api/views',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'Saved views, newest first: my own, and those shared with projects that I can see',
        querystring: z.strictObject({
          ...pageQuery,
          project: z.string().optional().describe('Slug: the views of this project only'),
        }),
        response: { 200: pageOf(viewShape) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const { limit, project: slug, cursor: text } = request.query
      const project = slug === undefined ? undefined : await visibleProject(sql, caller, slug)
      const visible = project === undefined ? await visibleProjectKeys(sql, caller, []) : [project.key]
      const page = { limit: limit + 1, after: cursor.read(text) }
      const found = await listSavedViews(prisma, caller, { visible, project: project?.slug }, page)
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: [...rows], next_cursor }
    },
  )
}

function readViewRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/views/:id',
    { ...readersOnly, schema: { ...one, summary: 'A saved view', response: { 200: viewShape } } },
    async (request) => showView(services, await request.caller(), request.params.id),
  )
}

function saveViewRoute(routes: Routes, services: Services): void {
  const { config, writer, now } = services
  routes.post(
    '/api/views',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Save a page under a title; 200 if it replaces my view with this title in the project',
        querystring: shapes.nothing,
        body: z.strictObject({
          title: shapes.label,
          path: pagePath,
          project: z.string().nullable().default(null).describe('Slug'),
          audience: audience.default('private'),
          colors: colors.default({}),
        }),
        response: { 200: viewShape, 201: viewShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id, created } = await write(writer, (tx) =>
        saveView(tx, caller, request.body, config.quotas.views, now()),
      )
      return reply.code(created ? 201 : 200).send(await showView(services, caller, id))
    },
  )
}

function changeViewRoute(routes: Routes, services: Services): void {
  const { writer, now } = services
  routes.patch(
    '/api/views/:id',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: "Change a saved view; for its creator, and for a shared view also the project's owner",
        body: z.strictObject({ title: shapes.label, path: pagePath, audience, colors }).partial(),
        response: { 200: viewShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { id } = request.params
      const before = await showView(services, caller, id)
      const after = await write(writer, (tx) => changeView(tx, caller, id, request.body, now()))
      // A project's owner who makes another user's view private no longer sees it.
      const unseen = { ...before, ...after, updated_at: now().toISOString(), can_edit: false }
      return (await seenView(services, caller, id)) ?? unseen
    },
  )
}

function deleteViewRoute(routes: Routes, { writer }: Services): void {
  routes.delete(
    '/api/views/:id',
    {
      ...personOnly,
      schema: { ...one, summary: 'Delete a saved view', response: { 204: shapes.noContent } },
    },
    async (request, reply) => {
      const caller = await request.person()
      await write(writer, (tx) => deleteView(tx, caller, request.params.id))
      return reply.code(204).send(null)
    },
  )
}
