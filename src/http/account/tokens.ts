import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { createToken, listTokens, revokeToken, TOKEN_SCOPES, tokenFields } from '../../domain/tokens/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'

const tokenShape = shapeOf(tokenFields)
const cursor = cursorOf('tokens', creationPosition)
const tags = ['tokens']

/** The caller's tokens for programs (contract §3). Only a signed-in person can create and revoke them. */
export function tokenRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [listTokensRoute, createTokenRoute, revokeTokenRoute])
}

function listTokensRoute(routes: Routes, { prisma }: Services): void {
  routes.get(
    '/api/tokens',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'My tokens, newest first; never the tokens themselves',
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(tokenShape) },
      },
    },
    async (request) => {
      const { user } = await request.person()
      const { limit } = request.query
      const found = await listTokens(prisma, user.id, {
        limit: limit + 1,
        after: cursor.read(request.query.cursor),
      })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      return { items: [...rows], next_cursor }
    },
  )
}

function createTokenRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.post(
    '/api/tokens',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Create a token; it is shown only once',
        querystring: shapes.nothing,
        body: z.strictObject({ name: shapes.label, scope: z.enum(TOKEN_SCOPES) }),
        response: { 201: tokenShape.extend({ token: z.string() }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const made = await write(writer, (tx) =>
        createToken(tx, caller, caller.user.id, request.body, config.quotas.tokens, now()),
      )
      return reply.code(201).send({ ...made.token, token: made.text })
    },
  )
}

function revokeTokenRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/tokens/:id',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Revoke one of my tokens',
        querystring: shapes.nothing,
        params: shapes.byId,
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await write(writer, (tx) => revokeToken(tx, caller, caller.user.id, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}
