import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { z } from 'zod'
import { escapeHtml } from '../../domain/escape-html.ts'
import { Problem } from '../../problem.ts'
import { BUILT } from '../built.ts'
import { addRoutes, type Routes } from '../request/routes.ts'

/** Where `npm run build` puts the wheels (scripts/wheels.mjs). */
const WHEELS = join(BUILT, 'pip')

const indexShape = z.object({
  files: z.array(
    z.object({
      project: z.string(),
      version: z.string(),
      filename: z.string(),
      requires_python: z.string(),
      size: z.int(),
      sha256: z.string(),
      metadata_sha256: z.string(),
    }),
  ),
})
type Wheel = z.output<typeof indexShape>['files'][number]

const JSON_V1 = 'application/vnd.pypi.simple.v1+json'
const HTML_V1 = 'application/vnd.pypi.simple.v1+html'
/** The first one is the default for clients that accept any type. */
const OFFERED = ['text/html', HTML_V1, JSON_V1]
const schema = { tags: ['clients'], security: [] }
const named = { ...schema, params: z.object({ project: z.string() }) }

/**
 * The Python clients of this service, as a package index: PEP 503 (HTML) and PEP 691 (JSON), with hashes and PEP 658
 * metadata, so that `pip install --index-url <address>/pip/simple/ svc-reporter` needs no other network. Open to
 * anyone who can reach the service: the packages are not secret.
 */
export function pipRoutes(app: FastifyInstance, folder: string = WHEELS): void {
  addRoutes(app, folder, [
    redirectToProjectsRoute,
    projectsRoute,
    redirectToProjectRoute,
    projectRoute,
    fileRoute,
  ])
}

function redirectToProjectsRoute(routes: Routes): void {
  // A relative address also works behind a proxy that adds a prefix.
  routes.get('/pip/simple', { schema: { ...schema, hide: true } }, (_request, reply) =>
    reply.redirect('simple/', 308),
  )
}

function projectsRoute(routes: Routes, folder: string): void {
  routes.get(
    '/pip/simple/',
    { schema: { ...schema, summary: 'The Python packages of this service' } },
    async (request, reply) => {
      const names = [...new Set((await readWheels(folder)).map(({ project }) => project))]
      return answer(request, reply, {
        json: { meta: { 'api-version': '1.1' }, projects: names.map((name) => ({ name })) },
        title: 'Python packages',
        links: names.map((name) => `<a href="${name}/">${name}</a>`),
      })
    },
  )
}

function redirectToProjectRoute(routes: Routes): void {
  routes.get<{ Params: { project: string } }>(
    '/pip/simple/:project',
    { schema: { ...named, hide: true } },
    (request, reply) => reply.redirect(`${encodeURIComponent(normalised(request.params.project))}/`, 308),
  )
}

function projectRoute(routes: Routes, folder: string): void {
  routes.get<{ Params: { project: string } }>(
    '/pip/simple/:project/',
    { schema: { ...named, summary: 'The files of a Python package' } },
    async (request, reply) => {
      const project = normalised(request.params.project)
      if (project !== request.params.project) return reply.redirect(`../${encodeURIComponent(project)}/`, 308)
      const files = (await readWheels(folder)).filter((wheel) => wheel.project === project)
      if (files.length === 0) throw new Problem('not_found')
      return answer(request, reply, {
        json: {
          meta: { 'api-version': '1.1' },
          name: project,
          versions: [...new Set(files.map(({ version }) => version))],
          files: files.map(fileOf),
        },
        title: project,
        links: files.map(linkTo),
      })
    },
  )
}

function fileRoute(routes: Routes, folder: string): void {
  routes.get<{ Params: { file: string } }>(
    '/pip/files/:file',
    {
      schema: {
        ...schema,
        summary: 'A wheel, or its metadata (`.metadata`)',
        params: z.object({ file: z.string() }),
      },
    },
    async (request, reply) => {
      const { file } = request.params
      const wheel = (await readWheels(folder)).find(
        ({ filename }) => file === filename || file === `${filename}.metadata`,
      )
      if (wheel === undefined) throw new Problem('not_found')
      return reply
        .headers({
          'content-type': file === wheel.filename ? 'application/octet-stream' : 'text/plain; charset=utf-8',
          // During development a file changes without a change of its name.
          'cache-control': 'no-cache',
          etag: `"${file === wheel.filename ? wheel.sha256 : wheel.metadata_sha256}"`,
        })
        .send(await readFile(join(folder, file)))
    },
  )
}

/** @throws Problem not_found if the service runs from sources and the packages were not built */
async function readWheels(folder: string): Promise<Wheel[]> {
  const text = await readFile(join(folder, 'index.json'), 'utf8').catch((cause) => {
    throw new Problem('not_found', {
      detail: 'The Python packages are not built. Build them with npm run build',
      cause,
    })
  })
  return indexShape.parse(JSON.parse(text)).files
}

/** The normalised name of PEP 503. */
const normalised = (name: string): string => name.toLowerCase().replace(/[-_.]+/g, '-')

const fileOf = ({ filename, sha256, size, requires_python, metadata_sha256 }: Wheel) => ({
  filename,
  url: `../../files/${filename}`,
  hashes: { sha256 },
  'requires-python': requires_python,
  size,
  'core-metadata': { sha256: metadata_sha256 },
})

const linkTo = ({ filename, sha256, requires_python, metadata_sha256 }: Wheel): string =>
  `<a href="../../files/${filename}#sha256=${sha256}" data-requires-python="${escapeHtml(requires_python)}" data-core-metadata="sha256=${metadata_sha256}">${filename}</a>`

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  { json, title, links }: { json: unknown; title: string; links: string[] },
): FastifyReply {
  const [type = 'text/html'] = new Negotiator(request.raw).mediaTypes(OFFERED)
  reply.headers({ vary: 'accept', 'cache-control': 'no-cache' })
  if (type === JSON_V1)
    return (
      reply
        .header('content-type', JSON_V1)
        // Bytes, because the framework adds a charset to the type of a text.
        .send(Buffer.from(JSON.stringify(json)))
    )
  const body = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="pypi:repository-version" content="1.1"><title>${title}</title></head>
<body>
${links.join('<br>\n')}
</body></html>
`
  return reply.header('content-type', type === HTML_V1 ? HTML_V1 : 'text/html; charset=utf-8').send(body)
}
