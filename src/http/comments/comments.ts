import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import {
  commentFields,
  createComment,
  deleteComment,
  editComment,
  listComments,
  MAX_COMMENT,
  type SubjectKind,
  visibleSubject,
} from '../../domain/comments/index.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { personOnly, readersOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const commentShape = shapeOf(commentFields)
const cursor = cursorOf('comments', z.int().min(0))
const text = z.strictObject({
  body: z
    .string()
    .max(MAX_COMMENT, 'must be at most 10,000 characters')
    .refine((body) => body.trim() !== '', 'must not be empty')
    .refine(isStorable, 'must be without NUL characters and lone surrogates'),
})
const tags = ['comments']

interface Context extends Services {
  kind: SubjectKind
  /** `/api/batches/:id/comments` */
  path: `/api/${'batches' | 'reports'}/:id/comments`
}

/** Comments on batches and reports (docs/comments.md). */
export function commentRoutes(app: FastifyInstance, services: Services): void {
  for (const [kind, path] of [
    ['batch', '/api/batches/:id/comments'],
    ['report', '/api/reports/:id/comments'],
  ] as const) {
    addRoutes(app, { ...services, kind, path }, [listRoute, createRoute, editRoute, deleteRoute])
  }
}

async function showComment(context: Context, caller: Caller, of: string, id: number) {
  const subject = await visibleSubject(context.sql, caller, context.kind, of)
  const [comment] = await listComments(context.prisma, caller, subject, { limit: 1, after: undefined, id })
  if (comment === undefined) throw new Problem('comment_not_found')
  return comment
}

function listRoute(routes: Routes, { sql, prisma, kind, path }: Context): void {
  routes.get(
    path,
    {
      ...readersOnly,
      schema: {
        tags,
        summary: `Comments on a ${kind}, newest first`,
        params: shapes.byId,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(commentShape) },
      },
    },
    async (request) => {
      const caller = await request.caller()
      const { limit, cursor: after } = request.query
      const subject = await visibleSubject(sql, caller, kind, request.params.id)
      const page = { limit: limit + 1, after: cursor.read(after) }
      const found = await listComments(prisma, caller, subject, page)
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ id }) => id)
      return { items: [...rows], next_cursor }
    },
  )
}

function createRoute(routes: Routes, context: Context): void {
  const { writer, now, kind, path } = context
  routes.post(
    path,
    {
      ...personOnly,
      schema: {
        tags,
        summary: `Comment on a ${kind} that I may edit`,
        description:
          '`@Name` mentions a person who sees the project: by the whole name, without case, outside of code.',
        params: shapes.byId,
        querystring: shapes.nothing,
        body: text,
        response: { 201: commentShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { id: of } = request.params
      const id = await commit(writer, async (tx) => {
        const subject = await visibleSubject(tx, caller, kind, of)
        return createComment(tx, caller, subject, request.body.body, now())
      })
      return reply.code(201).send(await showComment(context, caller, of, id))
    },
  )
}

function editRoute(routes: Routes, context: Context): void {
  const { writer, now, kind, path } = context
  routes.patch(
    `${path}/:comment`,
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Change the text of my comment',
        params: shapes.byId.extend({ comment: z.string() }),
        querystring: shapes.nothing,
        body: text,
        response: { 200: commentShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { id: of, comment } = request.params
      const id = await commit(writer, async (tx) => {
        const subject = await visibleSubject(tx, caller, kind, of)
        return editComment(tx, caller, subject, idOf(comment), request.body.body, now())
      })
      return showComment(context, caller, of, id)
    },
  )
}

function deleteRoute(routes: Routes, { writer, now, kind, path }: Context): void {
  routes.delete(
    `${path}/:comment`,
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Delete my comment, or any comment in a project that I administer',
        params: shapes.byId.extend({ comment: z.string() }),
        querystring: shapes.nothing,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await commit(writer, async (tx) => {
        const subject = await visibleSubject(tx, caller, kind, request.params.id)
        const id = idOf(request.params.comment)
        return { result: undefined, changes: await deleteComment(tx, caller, subject, id, now()) }
      })
      return reply.code(204).send(null)
    },
  )
}

/** @throws Problem comment_not_found for text that is no id */
function idOf(text: string): number {
  if (!/^[0-9]{1,15}$/.test(text)) throw new Problem('comment_not_found')
  return Number(text)
}
