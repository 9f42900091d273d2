import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import swagger from '@fastify/swagger'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { jsonSchemaTransform, serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { adminRoutes } from './admin.ts'
import { agentRoutes } from './agents.ts'
import { auditRoutes } from './audit.ts'
import { authRoutes } from './auth.ts'
import { batchListRoutes } from './batch-list.ts'
import { batchRoutes } from './batches.ts'
import { acceptJson, readToItsEnd } from './body.ts'
import { comparedSeriesRoutes } from './compared-series.ts'
import { compressAnswers } from './compress.ts'
import { createCounters } from './counters.ts'
import { identifyCallers } from './credentials.ts'
import { eventRoutes } from './events.ts'
import { exportRoutes } from './export.ts'
import { createGuesses } from './guesses.ts'
import { hostRoutes } from './hosts.ts'
import { insightRoutes } from './insight.ts'
import { jobAttemptRoutes } from './job-attempts.ts'
import { jobRoutes } from './jobs.ts'
import { shedLoad } from './load.ts'
import { mailRoutes } from './mail.ts'
import { noticeRoutes } from './notices.ts'
import { oauthRoutes } from './oauth.ts'
import { openapiRoutes } from './openapi.ts'
import { opsRoutes } from './ops.ts'
import { passkeyRoutes } from './passkeys.ts'
import { projectFieldRoutes } from './project-fields.ts'
import { projectRoutes } from './projects.ts'
import { rerunRoutes } from './reruns.ts'
import { sendProblem, toProblem } from './respond.ts'
import { ruleRoutes } from './rules.ts'
import { secondFactorRoutes } from './second-factors.ts'
import { secureAnswers } from './security-headers.ts'
import { seriesRoutes } from './series.ts'
import { sessionRoutes } from './sessions.ts'
import { shareRoutes } from './shares.ts'
import { sseRoutes } from './sse.ts'
import { tokenRoutes } from './tokens.ts'
import { refuseBytes, refusePath } from './unroutable.ts'
import { servePages } from './web.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route, for tests that must know of all. */
    routeList: readonly { method: string; url: string }[]
  }
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

/** The REST door: every route, and what holds for all of them (contract "General rules"). */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const { config, log } = services
  const process = randomBytes(4).toString('hex')
  let requests = 0
  const nextId = () => `${process}-${(++requests).toString(36)}`
  const app = fastify({
    bodyLimit: config.maxBodyBytes,
    // The nearest proxy alone: whatever stands further left in X-Forwarded-For, a client may have written itself.
    trustProxy: config.trustProxy ? (_address, hop) => hop < 1 : false,
    genReqId: nextId,
    frameworkErrors: refusePath,
    clientErrorHandler: (error, socket) => refuseBytes(error, socket, nextId()),
    // A batch_id of 128 characters may be percent-encoded to twelve times its length.
    routerOptions: { maxParamLength: 2048 },
    // Requests under way are answered when the server stops (app.ts sets the limit).
    forceCloseConnections: 'idle',
  })
  const routeList: { method: string; url: string }[] = []
  app.decorate('routeList', routeList)
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routeList.push({ method: one, url })
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  acceptJson(app, config.maxBodyBytes)

  const allowed = new Set(config.allowedHosts.map((host) => host.toLowerCase()))
  const anyHost = allowed.has('*')
  // It calls back, because every event passes here: a promise would cost as much as the rest.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (anyHost || allowed.has(hostName(request.headers.host))) done()
    else done(new Problem('host_not_allowed'))
  })
  app.setErrorHandler((error, request, reply) => {
    const problem = toProblem(error)
    if (problem.code === 'body_too_large') readToItsEnd(request, reply)
    // What refuses on purpose has no cause: too much to do, migrations that are pending.
    const failed = problem.status >= 500 && (problem.code === 'internal' || problem.cause !== undefined)
    if (failed && !wentAway(error, reply)) {
      log.error(
        { err: problem.cause ?? problem, request_id: request.id, route: request.routeOptions.url },
        problem.title,
      )
    }
    return sendProblem(reply, problem)
  })
  const load = shedLoad(app)
  const page = await servePages(app)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allow = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null)
    if (allow.length > 0 && !allow.includes(request.method as (typeof METHODS)[number])) {
      return sendProblem(reply, new Problem('method_not_allowed', { headers: { allow: allow.join(', ') } }))
    }
    return page(request, reply) ?? sendProblem(reply, new Problem('not_found'))
  })

  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Experiment monitor',
        version: '1',
        description: 'Training events in; batches, jobs, series and control out.',
      },
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer' },
          session: { type: 'apiKey', in: 'cookie', name: 'svc_session' },
        },
      },
      security: [{ bearer: [] }, { session: [] }],
    },
    transform: jsonSchemaTransform,
  })
  await app.register(cookie)
  secureAnswers(app)
  identifyCallers(app, services)

  opsRoutes(app, services, createCounters(app, services, load))
  eventRoutes(app, services)
  // Only the routes after it have its hooks: an event is to pass none.
  await compressAnswers(app)
  openapiRoutes(app)
  const guesses = createGuesses({ perHour: 100 })
  authRoutes(app, services, guesses)
  secondFactorRoutes(app, services, guesses)
  passkeyRoutes(app, services, guesses)
  sessionRoutes(app, services)
  oauthRoutes(app, services, guesses)
  tokenRoutes(app, services)
  adminRoutes(app, services)
  noticeRoutes(app, services)
  batchListRoutes(app, services)
  batchRoutes(app, services)
  rerunRoutes(app, services)
  agentRoutes(app, services)
  hostRoutes(app, services)
  jobRoutes(app, services)
  comparedSeriesRoutes(app, services)
  jobAttemptRoutes(app, services)
  projectRoutes(app, services)
  ruleRoutes(app, services)
  mailRoutes(app, services)
  projectFieldRoutes(app, services)
  shareRoutes(app, services)
  auditRoutes(app, services)
  seriesRoutes(app, services)
  exportRoutes(app, services)
  insightRoutes(app, services)
  sseRoutes(app, services)
  return app
}

/** Whoever asked closed the connection while the answer was being compressed: nothing failed here. */
const wentAway = (error: unknown, { raw }: FastifyReply): boolean =>
  (error as { code?: unknown }).code === 'ERR_STREAM_PREMATURE_CLOSE' &&
  (raw.destroyed || raw.req.socket.destroyed)

/** The name in a Host header, without its port: `[::1]:8080` → `[::1]`. */
const hostName = (header: string | undefined): string => (header ?? '').toLowerCase().replace(/:\d+$/, '')
