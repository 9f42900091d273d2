import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import { Problem } from '../../problem.ts'
import { BUILT } from '../built.ts'
import { publicAddress } from '../request/public-address.ts'
import { addRoutes, type Routes } from '../request/routes.ts'

/** Where `npm run build` puts the package (scripts/npm-package.mjs). */
const FOLDER = join(BUILT, 'npm')

const aboutShape = z.looseObject({
  name: z.string(),
  version: z.string(),
  dist: z.object({ filename: z.string(), integrity: z.string(), shasum: z.string() }),
})
type About = z.output<typeof aboutShape>
type Wants = { config: Config; folder: string }

const schema = { tags: ['clients'], security: [] }

/**
 * The TypeScript client of this service, as npm reads a registry: `npm install @svc/reporter
 * --@svc:registry=<address>/npm/`. Open to anyone who can reach the service, as the Python packages are.
 */
export function npmRoutes(app: FastifyInstance, config: Config, folder: string = FOLDER): void {
  addRoutes(app, { config, folder }, [packageRoute, fileRoute])
}

function packageRoute(routes: Routes, { config, folder }: Wants): void {
  routes.get<{ Params: { name: string } }>(
    '/npm/:name',
    {
      schema: {
        ...schema,
        summary: 'The versions of an npm package, `@svc/reporter` with its slash percent-encoded',
        params: z.object({ name: z.string() }),
      },
    },
    async (request, reply) => {
      const about = await read(folder)
      if (request.params.name !== about.name) throw new Problem('not_found')
      const { filename, ...dist } = about.dist
      const tarball = `${publicAddress(config, request)}/npm/files/${filename}`
      reply.header('cache-control', 'no-cache')
      return {
        name: about.name,
        'dist-tags': { latest: about.version },
        versions: { [about.version]: { ...about, dist: { ...dist, tarball } } },
      }
    },
  )
}

function fileRoute(routes: Routes, { folder }: Wants): void {
  routes.get<{ Params: { file: string } }>(
    '/npm/files/:file',
    { schema: { ...schema, summary: 'An npm package', params: z.object({ file: z.string() }) } },
    async (request, reply) => {
      const { dist } = await read(folder)
      if (request.params.file !== dist.filename) throw new Problem('not_found')
      return reply
        .headers({
          'content-type': 'application/octet-stream',
          'cache-control': 'no-cache',
          etag: `"${dist.shasum}"`,
        })
        .send(await readFile(join(folder, dist.filename)))
    },
  )
}

/** @throws Problem not_found if the service runs from sources and the package was not built */
async function read(folder: string): Promise<About> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch((cause) => {
    throw new Problem('not_found', {
      detail: 'The npm package is not built. Build it with npm run build',
      cause,
    })
  })
  return aboutShape.parse(JSON.parse(text))
}
