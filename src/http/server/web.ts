import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import statics from '@fastify/static'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import type { Config } from '../../config.ts'
import { BUILT } from '../built.ts'

/** Where `npm run build` puts the page. */
const PAGE_FOLDER = join(BUILT, 'web')

/** Paths that are never a page: unknown ones are 404. */
const NO_PAGE = /^\/(api|graphql|livez|readyz|metrics|pip|npm|docs|assets)(\/|$)/
/**
 * The paths that the page has routes for (web/src/app/router.tsx). Browsers get the page for any other path too, and it
 * shows that there is nothing.
 */
const PAGE =
  /^\/(|sign-in|register|connect|account|tokens|compare|trash|(hosts|admin)(\/.*)?|([bpsvr]|sr)\/.+)$/
const ASSET = /^\/assets\/[\w.-]+$/
const FILE = /^\/[\w-]+\.(svg|png|ico|txt|webmanifest)$/
/**
 * For files whose name stays while their content changes. Validators would be made of size and time; in a package all
 * files have one time, and a document has the same size in the next release: browsers would keep the old one, whose
 * assets are gone.
 */
const UNVALIDATED = { etag: false, lastModified: false }

const HTML = 'text/html; charset=utf-8'
const UNBUILT = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Experiment monitor</title><link rel="icon" href="data:,"></head>
<body><h1>The page is not built</h1>
<p>The service runs, and its API answers. Build the page with <code>npm run build</code>, then load this address again.</p>
<p><a href="/api/openapi.json">The API as an OpenAPI document</a></p></body></html>
`

declare module 'fastify' {
  interface FastifyReply {
    /** Answers with an HTML file of the build. */
    sendPage(file: string): FastifyReply
  }
}

/** A document of the build for a service below a path of its host. Scripts find the path by their own address. */
const below = (basePath: string, page: string): string =>
  page.replace(/ (href|src)="\/(?!\/)/g, (_all, name) => ` ${name}="${basePath}/`)

/** Answers with the page or one of its files; undefined if the path is neither. */
export type Pages = (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined

/**
 * Serves the page from the origin of the API. It has no routes and is tried after the router, so it cannot hide a path
 * of the API. Files are read at each request.
 */
export async function servePages(
  app: FastifyInstance,
  { basePath }: Pick<Config, 'basePath'>,
  root: string = PAGE_FOLDER,
): Promise<Pages> {
  // The build has a compressed copy of each file (web/vite.config.ts), for clients that accept it.
  await app.register(statics, { root, serve: false, suppressWarning: true, preCompressed: true })
  app.decorateReply('sendPage', function (this: FastifyReply, file: string) {
    if (!existsSync(join(root, file)))
      return this.code(503)
        .type(HTML)
        .send(UNBUILT.replace('"/api', `"${basePath}/api`))
    this.header('cache-control', 'no-cache')
    if (basePath === '') return this.sendFile(file, { ...UNVALIDATED, cacheControl: false })
    return this.type(HTML).send(below(basePath, readFileSync(join(root, file), 'utf8')))
  })

  return (request, reply) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return undefined
    const path = request.url.split('?', 1)[0] ?? ''
    if (ASSET.test(path)) {
      if (!existsSync(join(root, path))) return undefined
      // Their names contain a hash of their content.
      return reply.sendFile(path.slice(1), { immutable: true, maxAge: '365d' })
    }
    if (NO_PAGE.test(path)) return undefined
    if (FILE.test(path)) {
      return existsSync(join(root, path))
        ? reply.sendFile(path.slice(1), { ...UNVALIDATED, maxAge: '1h' })
        : undefined
    }
    if (prefersJson(request) || !(PAGE.test(path) || wantsHtml(request))) return undefined
    return reply.header('vary', 'accept').sendPage(documentOf(path))
  }
}

/**
 * The HTML document for a path. Only the title and the link preview differ. They name the kind of page and none of its
 * content, because the client that reads a preview is not signed in (web/link-previews.ts).
 */
const documentOf = (path: string): string => {
  const kind = /^\/([bps])\//.exec(path)?.[1]
  return kind === undefined ? 'index.html' : `index-${kind}.html`
}

/** Whether the client is a browser: only browsers accept `text/html` by name. */
export const wantsHtml = (request: FastifyRequest): boolean =>
  /\btext\/html\b/.test(request.headers.accept ?? '')

/**
 * Whether the client is a program that prefers JSON; all others get a page: browsers, link previews, curl (contract §10
 * "Pages").
 */
export const prefersJson = (request: FastifyRequest): boolean =>
  /json$/.test(new Negotiator(request.raw).mediaTypes(READABLE)[0] ?? '')
/** The default for a client without a preference is first. */
const READABLE = ['text/html', 'application/json', 'application/problem+json']
