import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { visibleProject } from '../../domain/access.ts'
import { addressesOf, requestConfirmations } from '../../domain/addresses/index.ts'
import type { Caller } from '../../domain/caller.ts'
import { creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import {
  createProject,
  listProjects,
  projectFields,
  projectView,
  setRecipients,
  updateProject,
} from '../../domain/projects/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit, write } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

/** The domain refuses a slug that is not valid, and says what it may contain. */
const slug = z
  .string()
  .max(512)
  .describe('1 to 128 letters, digits, `.`, `_` and `-`, after NFKC normalisation')
const visibility = z.enum(['private', 'public'])
const bySlug = z.object({ slug: z.string() })

const projectShape = shapeOf(projectFields)

const cursor = cursorOf('projects', creationPosition.omit({ id: true }).extend({ key: z.int().min(0) }))

/** The view of a project that the caller may read. */
async function showOne(sql: Services['sql'], caller: Caller, key: number) {
  const [project] = await listProjects(sql, caller, { limit: 1, after: undefined, keys: [key] })
  if (project === undefined) throw new Problem('project_not_found')
  return projectView(project)
}

const tags = ['projects']
const one = { tags, params: bySlug, querystring: shapes.nothing }

/** Projects and the addresses that get their mail (contract §2, §4). */
export function projectRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    listProjectsRoute,
    createProjectRoute,
    readProjectRoute,
    updateProjectRoute,
    setRecipientsRoute,
  ])
}

function listProjectsRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects',
    {
      ...readersOnly,
      schema: {
        tags,
        summary: 'The projects that I may see, newest first',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(projectShape) },
      },
    },
    async (request) => {
      const { limit } = request.query
      const after = cursor.read(request.query.cursor)
      const found = await listProjects(sql, await request.caller(), { limit: limit + 1, after })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ created_at: createdAt, key }) => ({
        createdAt,
        key,
      }))
      return { items: rows.map(projectView), next_cursor }
    },
  )
}

function createProjectRoute(routes: Routes, { config, sql, writer, now }: Services): void {
  routes.post(
    '/api/projects',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Create a project, owned by me',
        querystring: shapes.nothing,
        body: z.strictObject({
          slug,
          display_name: shapes.label.optional().describe('Default: the slug'),
          visibility: visibility.default('private'),
        }),
        response: { 201: projectShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { slug, visibility, display_name: displayName } = request.body
      const key = await commit(writer, (tx) =>
        createProject(tx, caller, { slug, visibility, displayName }, config.quotas.projects, now()),
      )
      return reply.code(201).send(await showOne(sql, caller, key))
    },
  )
}

function readProjectRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug',
    { ...readersOnly, schema: { ...one, summary: 'One project', response: { 200: projectShape } } },
    async (request) => {
      const caller = await request.caller()
      return showOne(sql, caller, (await visibleProject(sql, caller, request.params.slug)).key)
    },
  )
}

function updateProjectRoute(routes: Routes, { sql, writer, now }: Services): void {
  routes.patch(
    '/api/projects/:slug',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: 'Rename a project, or make it public or private',
        body: z
          .strictObject({ display_name: shapes.label.optional(), visibility: visibility.optional() })
          .refine(
            (body) => body.display_name !== undefined || body.visibility !== undefined,
            'must change display_name or visibility',
          ),
        response: { 200: projectShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { display_name: displayName, visibility } = request.body
      const change = { displayName, visibility }
      const key = await commit(writer, (tx) => updateProject(tx, caller, request.params.slug, change, now()))
      return showOne(sql, caller, key)
    },
  )
}

function setRecipientsRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.put(
    '/api/projects/:slug/recipients',
    {
      ...personOnly,
      schema: {
        ...one,
        summary: "Set the recipients of the project's mail; the owners of new addresses must confirm them",
        body: z.strictObject({ emails: z.array(shapes.email).max(100) }),
        response: {
          200: z.object({
            emails: z.array(z.string()),
            unconfirmed: z
              .array(z.string())
              .describe('Recipients that must confirm their address before they get mail'),
          }),
        },
      },
    },
    async (request) => {
      const caller = await request.person()
      const emails = [...new Map(request.body.emails.map((email) => [email.toLowerCase(), email])).values()]
      const domains = config.mail.allowedDomains
      const states = await write(writer, async (tx) => {
        const { result: projectKey } = await setRecipients(tx, caller, request.params.slug, emails, now())
        if (config.smtp !== undefined) {
          await requestConfirmations(tx, { projectKey, requestedBy: caller.user.id }, domains, now())
        }
        return await addressesOf(tx, { projectKey }, domains)
      })
      const open = new Set(
        states.flatMap(({ address, state }) => (state === 'confirmed' ? [] : [address.toLowerCase()])),
      )
      return { emails, unconfirmed: emails.filter((email) => open.has(email.toLowerCase())) }
    },
  )
}
