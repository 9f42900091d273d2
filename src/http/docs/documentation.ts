import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { entryOf } from '../../checked.ts'
import { Problem } from '../../problem.ts'
import { BUILT } from '../built.ts'

/** Where `npm run build:docs` puts the site (scripts/docs.mjs). */
const SITE = join(BUILT, 'docs')

const TYPES = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.json', 'application/json; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
  ['.png', 'image/png'],
  ['.woff2', 'font/woff2'],
  ['.txt', 'text/plain; charset=utf-8'],
])
/** A path within the site, without `..` and without hidden files. */
const NAME = /^(?!\.)[\w.-]+(\/(?!\.)[\w.-]+)*$/

/**
 * The documentation of this version as a site under `/docs/`. It needs no sign-in: the text is public. `/docs/install`
 * is answered like `/docs/install.html`.
 */
export function documentationRoutes(app: FastifyInstance, folder: string = SITE): void {
  const hidden = { schema: { hide: true } }
  // A relative address also works behind a proxy that adds a prefix.
  app.get('/docs', hidden, (_request, reply) => reply.redirect('docs/', 308))
  app.get<{ Params: { '*': string } }>('/docs/*', hidden, async (request, reply) => {
    const path = request.params['*'] === '' ? 'index.html' : request.params['*']
    const file = TYPES.has(extname(path)) ? path : `${path}.html`
    if (!NAME.test(file)) throw new Problem('not_found')
    const bytes = await readFile(join(folder, file)).catch(async (cause) => {
      throw new Problem('not_found', await whyMissing(folder, cause))
    })
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
    // The same address shows the next version after an upgrade.
    reply.headers({ 'cache-control': 'no-cache', etag })
    if (request.headers['if-none-match']?.includes(etag)) return reply.code(304).send()
    return reply.type(entryOf(TYPES, extname(file))).send(bytes)
  })
}

async function whyMissing(folder: string, cause: unknown): Promise<{ detail?: string; cause: unknown }> {
  const built = await readFile(join(folder, 'index.html')).then(
    () => true,
    () => false,
  )
  return built
    ? { cause }
    : { detail: 'The documentation is not built. Build it with npm run build:docs', cause }
}
