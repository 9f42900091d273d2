import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import {
  addUse,
  artifactProject,
  changeAliases,
  deleteVersion,
  findVersion,
  lineageFields,
  lineageOf,
  writableArtifactProject,
} from '../../domain/artifacts/index.ts'
import { shapeOf } from '../../domain/field.ts'
import { writableBatch } from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { personOnly } from '../request/credentials.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { aliasChange, newUse, useShape } from './artifact-shapes.ts'
import { byVersion, knownOnly } from './artifacts.ts'

const tags = ['artifacts']
const one = { tags, params: byVersion, querystring: shapes.nothing }

/** What is done to a version of an artifact, and where it comes from. */
export function artifactWriteRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [aliasesRoute, useRoute, lineageRoute, deleteVersionRoute])
}

function aliasesRoute(routes: Routes, { writer, now }: Services): void {
  routes.put(
    '/api/projects/:slug/artifacts/:name/:version/aliases',
    {
      ...knownOnly,
      schema: {
        ...one,
        summary: 'Point aliases to a version, or remove them from it',
        body: aliasChange,
        response: { 200: z.object({ version: z.string(), aliases: z.array(z.string()) }) },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { slug, name, version: reference } = request.params
      const { add = [], remove = [], comment } = request.body
      return write(writer, async (tx) => {
        const project = await writableArtifactProject(tx, caller, slug)
        const change = { add, remove, comment }
        const result = await changeAliases(tx, caller, project, { name, reference }, change, now())
        return result
      })
    },
  )
}

function useRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/projects/:slug/artifacts/:name/:version/uses',
    {
      ...knownOnly,
      schema: {
        ...one,
        summary: 'Record that a batch uses a version; 200 if already recorded',
        body: newUse,
        response: { 200: useShape, 201: useShape },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      const { slug, name, version: reference } = request.params
      const { batch_id, job_id = null } = request.body
      const { isNew, number } = await write(writer, async (tx) => {
        const project = await writableArtifactProject(tx, caller, slug)
        const version = await findVersion(tx, project.key, name, reference)
        const batch = await writableBatch(tx, caller, batch_id)
        if (batch.projectKey !== project.key) throw new Problem('batch_project_mismatch')
        const isNew = await addUse(tx, version, { batchKey: batch.key, jobId: job_id }, now())
        return { isNew, number: version.number }
      })
      return reply.code(isNew ? 201 : 200).send({ version: `v${number}`, batch_id, job_id })
    },
  )
}

function lineageRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/artifacts/:name/:version/lineage',
    {
      schema: {
        ...one,
        summary: 'The lineage of a version: what created it, what used it and what was created from it',
        response: { 200: shapeOf(lineageFields) },
      },
    },
    async (request) => {
      const { slug, name, version } = request.params
      const project = await artifactProject(sql, await request.caller(), slug)
      return lineageOf(sql, await findVersion(sql, project.key, name, version))
    },
  )
}

function deleteVersionRoute(routes: Routes, { writer, now }: Services): void {
  routes.delete(
    '/api/projects/:slug/artifacts/:name/:version',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Delete a version; one that is used or has aliases only with `force=true`',
        params: byVersion,
        querystring: z.strictObject({ force: z.enum(['true', 'false']).optional() }),
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { slug, name, version: reference } = request.params
      const force = request.query.force === 'true'
      await write(writer, async (tx) => {
        const project = await artifactProject(tx, caller, slug)
        await deleteVersion(tx, caller, project, { name, reference }, force, now())
      })
      return reply.code(204).send(null)
    },
  )
}
