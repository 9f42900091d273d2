import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { cursorOf } from '../../domain/cursors.ts'
import {
  choiceShape,
  countUnread,
  listNotices,
  markRead,
  noticeShape,
  noticesOf,
  readChoices,
  writeChoices,
} from '../../domain/notices/index.ts'
import type { Services } from '../../services.ts'
import { commit, write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const cursor = cursorOf('notices', z.int().min(0))
const tags = ['notices']
const unread = z.object({ unread: z.int().describe('Number of unread notices') })

/** The bell (docs/comments.md). */
export function bellRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listRoute, readRoute, choicesRoute, chooseRoute])
}

function listRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/notices',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'My notices, newest first, and the number of unread ones',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(noticeShape).extend(unread.shape) },
      },
    },
    async (request) => {
      const { user } = await request.person()
      const { limit, cursor: text } = request.query
      const [found, n] = await Promise.all([
        listNotices(sql, user.id, { limit: limit + 1, after: cursor.read(text) }),
        countUnread(sql, user.id),
      ])
      const { rows, next_cursor } = pageFrom(found, limit, cursor, ({ id }) => id)
      return { items: [...rows], next_cursor, unread: n }
    },
  )
}

function readRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/notices/read',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Mark my notices as read: these, or all up to one',
        querystring: shapes.nothing,
        body: z.union([
          z.strictObject({ ids: z.array(z.int().min(0)).max(500, 'at most 500 notices') }),
          z.strictObject({
            up_to: z.int().min(0).describe('The newest known id; later notices stay unread'),
          }),
        ]),
        response: { 200: unread },
      },
    },
    async (request) => {
      const { user } = await request.person()
      const which = 'ids' in request.body ? { ids: request.body.ids } : { upTo: request.body.up_to }
      return commit(writer, async (tx) => {
        const marked = await markRead(tx, user.id, which, now())
        return { result: { unread: await countUnread(tx, user.id) }, changes: noticesOf(marked) }
      })
    },
  )
}

function choicesRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/notices/choices',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'My notification settings',
        querystring: shapes.nothing,
        response: { 200: choiceShape },
      },
    },
    async (request) => readChoices(sql, (await request.person()).user.id),
  )
}

function chooseRoute(routes: Routes, { writer }: Services): void {
  routes.patch(
    '/api/notices/choices',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Change my notification settings',
        querystring: shapes.nothing,
        body: z.strictObject(choiceShape.partial().shape),
        response: { 200: choiceShape },
      },
    },
    async (request) => {
      const { user } = await request.person()
      return write(writer, (tx) => writeChoices(tx, user.id, request.body))
    },
  )
}
