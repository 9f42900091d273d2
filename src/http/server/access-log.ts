import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'

/** Parts of paths that are secrets. Query strings are never logged. */
const SECRET_PARAMETER = /^:(token|secret|code)$/
/** Pages whose path has such a part; they have no routes (server/web.ts). */
const SECRET_PAGE = /^\/(sr?)\/[^/]+/

/**
 * Logs each answer (SVC_ACCESS_LOG; docs/operations.md "Logs"), a stream when it ends. Always at the level
 * `info`, even if SVC_LOG_LEVEL is higher: the setting asks for it.
 */
export function logAccess(app: FastifyInstance, log: Logger): void {
  const access = log.child({}, { level: 'info' })
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply
    const begun = performance.now()
    // Of the connection, because streams do not go through the framework's hooks.
    raw.once('close', () => {
      const length = Number(reply.getHeader('content-length') ?? Number.NaN)
      access.info(
        {
          request_id: request.id,
          method: request.method,
          path: pathOf(request),
          route: request.routeOptions.url,
          status: raw.statusCode,
          // The client disconnected before the end of its answer.
          ...(!raw.writableFinished && { cut_off: true }),
          ms: Math.round((performance.now() - begun) * 10) / 10,
          ...(Number.isFinite(length) && { bytes: length }),
          address: request.ip,
          agent: request.headers['user-agent']?.slice(0, 200),
        },
        'request',
      )
    })
    done()
  })
}

/** The requested path, without its query and without secrets. */
function pathOf(request: FastifyRequest): string {
  const path = request.url.split('?', 1)[0] ?? ''
  const pattern = request.routeOptions.url
  if (pattern === undefined) return path.replace(SECRET_PAGE, '/$1/[hidden]')
  const names = pattern.split('/')
  const hidden = (i: number) => SECRET_PARAMETER.test(names[i] ?? '')
  return path
    .split('/')
    .map((part, i) => (hidden(i) ? '[hidden]' : part))
    .join('/')
}
