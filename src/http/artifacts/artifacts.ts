import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  artifactNamed,
  artifactProject,
  contentOfArtifact,
  createVersion,
  filesOfVersion,
  findVersion,
  listArtifacts,
  listMoves,
  listVersions,
  madeFields,
  moveFields,
  summaryFields,
  versionFields,
  wholeVersionFields,
  writableArtifactProject,
} from '../../domain/artifacts/index.ts'
import { cursorOf } from '../../domain/cursors.ts'
import { shapeOf } from '../../domain/field.ts'
import { fileUrl, placeContent, writableBatch } from '../../domain/files/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { sendContent } from '../files/content-answer.ts'
import { MAX_LIST_BYTES } from '../files/file-shapes.ts'
import { bytes, freeBytes, nameOf } from '../files/files.ts'
import { filterText } from '../request/filters.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { newVersion } from './artifact-shapes.ts'

const madeVersion = shapeOf(madeFields)
const artifactShape = shapeOf(summaryFields)
const tags = ['artifacts']
const bySlug = z.object({ slug: z.string() })
const byName = z.object({ slug: z.string(), name: z.string() })
export const byVersion = z.object({ slug: z.string(), name: z.string(), version: z.string() })
/** All that sends a credential; who may read or write is checked with the project. */
export const knownOnly = { onRequest: async (request: FastifyRequest) => void (await request.known()) }

/** Artifacts of a project (contract §11 "Artifacts"). */
export function artifactRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    createArtifactRoute,
    listArtifactsRoute,
    readArtifactRoute,
    movesRoute,
    readVersionRoute,
    readArtifactFileRoute,
  ])
}

function createArtifactRoute(routes: Routes, services: Services): void {
  const { config, writer, now } = services
  routes.post(
    '/api/projects/:slug/artifacts',
    {
      ...knownOnly,
      bodyLimit: MAX_LIST_BYTES,
      schema: {
        tags,
        summary: 'Create a version of an artifact; 200 if a version with these files exists',
        description:
          'Content that the project already has need not be sent again. When the last of its `uploads` is complete, the version becomes ready and its aliases move.',
        params: bySlug,
        querystring: shapes.nothing,
        body: newVersion,
        response: { 200: madeVersion, 201: madeVersion },
      },
    },
    async (request, reply) => {
      const caller = await request.known()
      const { name, type, metadata, aliases = [], batch_id: batchId, job_id: jobId = null } = request.body
      const files = request.body.files.map(({ media_type: mediaType = null, ...file }) => ({
        ...file,
        mediaType,
      }))
      const free = await freeBytes(services)
      const { created, ...made } = await write(writer, async (tx) => {
        const project = await writableArtifactProject(tx, caller, request.params.slug)
        const batch = batchId == null ? null : await writableBatch(tx, caller, batchId)
        if (batch !== null && batch.projectKey !== project.key) throw new Problem('batch_project_mismatch')
        const owner = { projectKey: project.key, userId: caller.user.id }
        const places = await placeContent(tx, owner, files, { limits: config.files, free, now: now() })
        const batchKey = batch?.key ?? null
        const wanted = { name, type, files, metadata: metadata ?? {}, aliases, batchKey, jobId }
        const result = await createVersion(tx, caller, project.key, wanted, places, now())
        return result
      })
      return reply.code(created ? 201 : 200).send(made)
    },
  )
}

const namesCursor = cursorOf('artifacts', z.string())

function listArtifactsRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/artifacts',
    {
      schema: {
        tags,
        summary: 'The artifacts of a project, by name; also with a reporter token',
        params: bySlug,
        querystring: z.strictObject({
          ...pageQuery,
          type: filterText.optional(),
          q: filterText.optional().describe('Text in the name'),
        }),
        response: { 200: pageOf(artifactShape) },
      },
    },
    async (request) => {
      const project = await artifactProject(sql, await request.caller(), request.params.slug)
      const { limit, cursor, type, q } = request.query
      const filter = { type, q, after: namesCursor.read(cursor), limit: limit + 1 }
      const found = await listArtifacts(sql, project.key, filter)
      const { rows, next_cursor } = pageFrom(found, limit, namesCursor, ({ name }) => name)
      return { items: [...rows], next_cursor }
    },
  )
}

const numbersCursor = cursorOf('versions of an artifact', z.int())

function readArtifactRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/artifacts/:name',
    {
      schema: {
        tags,
        summary: 'An artifact with its versions, newest first',
        params: byName,
        querystring: z.strictObject(pageQuery),
        response: { 200: artifactShape.extend(pageOf(shapeOf(versionFields)).shape) },
      },
    },
    async (request) => {
      const { slug, name } = request.params
      const project = await artifactProject(sql, await request.caller(), slug)
      const artifact = await artifactNamed(sql, project.key, name)
      const { limit, cursor } = request.query
      const page = { before: numbersCursor.read(cursor), limit: limit + 1 }
      const found = await listVersions(sql, project.key, name, page)
      const { rows, next_cursor } = pageFrom(found, limit, numbersCursor, ({ number }) => number)
      return { ...artifact, items: rows.map(({ number: _, ...version }) => version), next_cursor }
    },
  )
}

const movesCursor = cursorOf('moves of aliases', z.int())

function movesRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/artifacts/:name/aliases/history',
    {
      schema: {
        tags,
        summary: 'Who moved the aliases of an artifact, newest first',
        params: byName,
        querystring: z.strictObject(pageQuery),
        response: { 200: pageOf(shapeOf(moveFields)) },
      },
    },
    async (request) => {
      const { slug, name } = request.params
      const project = await artifactProject(sql, await request.caller(), slug)
      await artifactNamed(sql, project.key, name)
      const { limit, cursor } = request.query
      const page = { before: movesCursor.read(cursor), limit: limit + 1 }
      const found = await listMoves(sql, project.key, name, page)
      const { rows, next_cursor } = pageFrom(found, limit, movesCursor, ({ id }) => id)
      return { items: rows.map(({ id: _, ...move }) => move), next_cursor }
    },
  )
}

function readVersionRoute(routes: Routes, { sql }: Services): void {
  routes.get(
    '/api/projects/:slug/artifacts/:name/:version',
    {
      schema: {
        tags,
        summary: 'A version of an artifact, by number or alias, with its files',
        params: byVersion,
        querystring: shapes.nothing,
        response: { 200: shapeOf(wholeVersionFields) },
      },
    },
    async (request) => {
      const { slug, name, version: reference } = request.params
      const project = await artifactProject(sql, await request.caller(), slug)
      const { key, number, type } = await findVersion(sql, project.key, name, reference)
      const [[version], files] = await Promise.all([
        listVersions(sql, project.key, name, { number, limit: 1 }),
        filesOfVersion(sql, key),
      ])
      if (version === undefined) throw new Problem('artifact_not_found')
      const { number: _, files: _count, ...shown } = version
      const folder = `/api/projects/${encodeURIComponent(slug)}/artifacts/${encodeURIComponent(name)}/v${number}/files`
      return {
        name,
        type,
        ...shown,
        files: files.map((file) => ({ ...file, url: file.uploaded ? fileUrl(folder, file.path) : null })),
      }
    },
  )
}

function readArtifactFileRoute(routes: Routes, services: Services): void {
  const { sql } = services
  routes.get(
    '/api/projects/:slug/artifacts/:name/:version/files/*',
    {
      compress: false,
      schema: {
        ...bytes.schema,
        tags,
        summary: 'The bytes of a file of an artifact',
        params: byVersion.extend({ '*': z.string() }),
      },
    },
    async (request, reply) => {
      const { slug, name, version: reference, '*': path } = request.params
      const project = await artifactProject(sql, await request.caller(), slug)
      const { key } = await findVersion(sql, project.key, name, reference)
      const content = await contentOfArtifact(sql, key, path)
      const { download, width } = request.query
      const as = { name: nameOf(path), download: download === 'true', width }
      return sendContent({ request, reply }, services, content, as)
    },
  )
}
