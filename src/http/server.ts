import { randomBytes } from 'node:crypto'
import cookie from '@fastify/cookie'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { itemAt } from '../checked.ts'
import { levelOf } from '../domain/fault-level.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { codeOf } from '../thrown.ts'
import { invitationRoutes } from './account/invitations.ts'
import { sessionRoutes } from './account/sessions.ts'
import { tokenRoutes } from './account/tokens.ts'
import { verificationRoutes } from './account/verification.ts'
import { adminRoutes } from './admin/admin.ts'
import { auditRoutes } from './admin/audit.ts'
import { noticeRoutes } from './admin/notices.ts'
import { artifactWriteRoutes } from './artifacts/artifact-writes.ts'
import { artifactRoutes } from './artifacts/artifacts.ts'
import { batchArtifactRoutes } from './artifacts/batch-artifacts.ts'
import { batchListRoutes } from './batches/batch-list.ts'
import { batchRoutes } from './batches/batches.ts'
import { deliveryRoutes } from './batches/delivery.ts'
import { etaRoutes } from './batches/eta.ts'
import { exportRoutes } from './batches/export.ts'
import { healthRoutes } from './batches/health.ts'
import { rerunRoutes } from './batches/reruns.ts'
import { shareRoutes } from './batches/shares.ts'
import { commentRoutes } from './comments/comments.ts'
import { dashboardRoutes } from './dashboard/dashboard.ts'
import { documentationRoutes } from './docs/documentation.ts'
import { describeRoutes, openapiRoutes } from './docs/openapi.ts'
import { embedRoutes } from './embeds/embeds.ts'
import { eventRoutes } from './events/events.ts'
import { fileRoutes } from './files/files.ts'
import { mediaRoutes } from './files/media.ts'
import { sharedFileRoutes } from './files/shared-files.ts'
import { uploadRoutes } from './files/uploads.ts'
import { agentRoutes } from './hosts/agents.ts'
import { hostRoutes } from './hosts/hosts.ts'
import { jobAttemptRoutes } from './jobs/job-attempts.ts'
import { jobRoutes } from './jobs/jobs.ts'
import { bellRoutes } from './notices/notices.ts'
import { npmRoutes } from './npm/npm.ts'
import { createCounters } from './operations/counters.ts'
import { opsRoutes } from './operations/ops.ts'
import { settingRoutes } from './operations/settings.ts'
import { pipRoutes } from './pip/pip.ts'
import { projectLinkRoutes } from './projects/links.ts'
import { memberRoutes } from './projects/members.ts'
import { projectFieldRoutes } from './projects/project-fields.ts'
import { projectRoutes } from './projects/projects.ts'
import { reportRoutes } from './reports/reports.ts'
import { identifyCallers } from './request/credentials.ts'
import { mailPageRoutes } from './request/mail-page.ts'
import { hostCheck, withoutBase } from './request/public-address.ts'
import { messageRoutes } from './rules/deliveries.ts'
import { mailRoutes } from './rules/mail.ts'
import { muteRoutes } from './rules/mutes.ts'
import { rulePreviewRoutes } from './rules/previews.ts'
import { ruleRoutes } from './rules/rules.ts'
import { comparedSeriesRoutes } from './series/compared-series.ts'
import { metricsRoutes } from './series/metrics.ts'
import { seriesRoutes } from './series/series.ts'
import { logAccess } from './server/access-log.ts'
import { acceptJson, drainRequest } from './server/body.ts'
import { compressAnswers } from './server/compress.ts'
import { shedLoad } from './server/load.ts'
import { createRefusalLog, type RefusalLog } from './server/refusal-log.ts'
import { allowReporterOrigins } from './server/reporter-origins.ts'
import { sendProblem, toProblem } from './server/respond.ts'
import { secureAnswers } from './server/security-headers.ts'
import { limitBodyTime } from './server/slow-bodies.ts'
import { exportCounters, traceRequests } from './server/telemetry.ts'
import { refuseBytes, refusePath } from './server/unroutable.ts'
import { delayRefusal, limitVisitors } from './server/visitors.ts'
import { type Pages, servePages } from './server/web.ts'
import { authRoutes } from './sign-in/auth.ts'
import { confirmRoutes } from './sign-in/confirm.ts'
import type { Identification } from './sign-in/guess.ts'
import { oauthRoutes } from './sign-in/oauth.ts'
import { passkeyRoutes } from './sign-in/passkeys.ts'
import { secondFactorRoutes } from './sign-in/second-factors.ts'
import { CODES_PER_HOUR, createSignInLimiter, PASSWORDS_PER_HOUR } from './sign-in/sign-in-limiter.ts'
import { sseRoutes } from './streams/sse.ts'
import { createStreamSlots, type StreamSlots } from './streams/stream-slots.ts'
import { sweepRoutes } from './sweeps/sweeps.ts'
import { viewRoutes } from './views/views.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route, for tests that must know of all. */
    routeList: readonly { method: string; url: string }[]
    streamSlots: StreamSlots
    refusals: RefusalLog
  }
  interface FastifyContextConfig {
    /** The route is answered under any `Host`. */
    anyHost?: boolean
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

/** The REST door: every route, and what holds for all of them (contract "General rules"). */
export async function buildServer(services: Services): Promise<FastifyInstance> {
  const { config, log } = services
  const process = randomBytes(4).toString('hex')
  let requests = 0
  const nextId = () => `${process}-${(++requests).toString(36)}`
  const app = fastify({
    bodyLimit: config.maxBodyBytes,
    // The nearest proxy alone: a client may have written all earlier entries of X-Forwarded-For itself.
    trustProxy: config.trustProxy ? (_address, hop) => hop < 1 : false,
    genReqId: nextId,
    rewriteUrl: (request) => withoutBase(config.basePath, request.url ?? '/'),
    frameworkErrors: refusePath,
    clientErrorHandler: (error, socket) => refuseBytes(error, socket, nextId()),
    // A batch_id of 128 characters may be percent-encoded to twelve times its length.
    routerOptions: { maxParamLength: 2048 },
    // Requests under way are answered when the server stops (app.ts sets the limit).
    forceCloseConnections: 'idle',
    connectionTimeout: config.timeouts.idle * 1000,
    http: { headersTimeout: config.timeouts.headers * 1000, connectionsCheckingInterval: 1_000 },
  })
  const routeList: { method: string; url: string }[] = []
  app.decorate('routeList', routeList)
  app.decorate('refusals', createRefusalLog(services))
  app.decorate('streamSlots', createStreamSlots(config.perAddress.streams))
  app.addHook('onRoute', ({ method, url }) => {
    for (const one of [method].flat()) if (one !== 'HEAD') routeList.push({ method: one, url })
  })
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  acceptJson(app, config.maxBodyBytes)

  if (services.telemetry) traceRequests(app)
  if (config.accessLog) logAccess(app, log)
  checkHost(app, config.allowedHosts)
  allowReporterOrigins(app, config.reporterOrigins)
  answerErrors(app, log)
  const bodies = limitBodyTime(app, {
    timeoutS: config.timeouts.body,
    perAddress: config.perAddress.requests,
  })
  const load = shedLoad(app, { perAddress: config.perAddress.requests })
  const page = await servePages(app, config)
  answerUnknown(app, page)

  await describeRoutes(app, config.basePath)
  await app.register(cookie)
  secureAnswers(app, config)
  identifyCallers(app, services)

  const counters = createCounters(app, services, load, bodies)
  if (services.telemetry) exportCounters(counters)
  opsRoutes(app, services, counters)
  eventRoutes(app, services)
  pipRoutes(app)
  npmRoutes(app, config)
  // Only the routes after it have its hooks: an event is to pass none.
  limitVisitors(app, services)
  await compressAnswers(app)
  registerRoutes(app, services)
  return app
}

/**
 * Only the names that this service has are answered, but to probes, which call it by its address (contract §8); every
 * answer has the id of its request.
 */
function checkHost(app: FastifyInstance, allowedHosts: readonly string[]): void {
  const isAllowed = hostCheck(allowedHosts)
  // It calls back, because every event passes here: a promise would cost as much as the rest.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (hasManyHosts(request.raw.rawHeaders)) {
      done(new Problem('bad_request', { detail: 'The request has more than one Host header' }))
    } else if (isAllowed(request.headers.host) || request.routeOptions.config.anyHost === true) done()
    else done(new Problem('host_not_allowed'))
  })
}

function answerErrors(app: FastifyInstance, log: Services['log']): void {
  app.setErrorHandler(async (error, request, reply) => {
    const problem = toProblem(error)
    if (problem.code === 'budget_exceeded') await delayRefusal()
    if (problem.code === 'body_too_large') drainRequest(request, reply)
    // What refuses on purpose has no cause: too much to do, migrations that are pending.
    const failed = problem.status >= 500 && (problem.code === 'internal' || problem.cause !== undefined)
    if (failed && clientDisconnected(error, request, reply)) {
      // The client has gone and does not read the answer; its status is only counted.
      return sendProblem(reply, new Problem('bad_request'))
    }
    if (failed) {
      log[levelOf(problem)](
        { err: problem.cause ?? problem, request_id: request.id, route: request.routeOptions.url },
        problem.title,
      )
    }
    return sendProblem(reply, problem)
  })
}

/** What no route has: the page, 405 with the methods of that path, or 404. */
function answerUnknown(app: FastifyInstance, page: Pages): void {
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allow = METHODS.filter((method) => app.findRoute({ method, url: path }) !== null)
    if (allow.length > 0 && !allow.some((method) => method === request.method)) {
      return sendProblem(reply, new Problem('method_not_allowed', { headers: { allow: allow.join(', ') } }))
    }
    return page(request, reply) ?? sendProblem(reply, new Problem('not_found'))
  })
}

/** Every route but those of events, of operations and of packages. */
function registerRoutes(app: FastifyInstance, services: Services): void {
  settingRoutes(app, services)
  openapiRoutes(app)
  mailPageRoutes(app)
  documentationRoutes(app)
  const identification: Identification = {
    services,
    passwords: createSignInLimiter({ perHour: PASSWORDS_PER_HOUR }),
    codes: createSignInLimiter({ perHour: CODES_PER_HOUR }),
  }
  authRoutes(app, identification)
  secondFactorRoutes(app, identification)
  passkeyRoutes(app, identification)
  confirmRoutes(app, identification)
  sessionRoutes(app, services)
  oauthRoutes(app, identification)
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
  memberRoutes(app, services)
  sweepRoutes(app, services)
  invitationRoutes(app, services)
  ruleRoutes(app, services)
  messageRoutes(app, services)
  rulePreviewRoutes(app, services)
  muteRoutes(app, services)
  verificationRoutes(app, services)
  mailRoutes(app, services)
  projectFieldRoutes(app, services)
  fileRoutes(app, services)
  uploadRoutes(app, services)
  mediaRoutes(app, services)
  sharedFileRoutes(app, services)
  artifactRoutes(app, services)
  artifactWriteRoutes(app, services)
  batchArtifactRoutes(app, services)
  shareRoutes(app, services)
  projectLinkRoutes(app, services)
  viewRoutes(app, services)
  reportRoutes(app, services)
  embedRoutes(app, services)
  commentRoutes(app, services)
  bellRoutes(app, services)
  auditRoutes(app, services)
  metricsRoutes(app, services)
  seriesRoutes(app, services)
  exportRoutes(app, services)
  deliveryRoutes(app, services)
  etaRoutes(app, services)
  healthRoutes(app, services)
  dashboardRoutes(app, services)
  sseRoutes(app, services)
}

/**
 * Whether the client closed its connection while it sent its request or took the answer. What then fails here, often
 * with the same codes as a lost connection to the database, is no fault of the service.
 */
const clientDisconnected = (error: unknown, { raw }: FastifyRequest, reply: FastifyReply): boolean =>
  CONNECTION_LOST.has(String(codeOf(error))) &&
  (raw.errored === error || raw.socket.destroyed || reply.raw.destroyed)
const CONNECTION_LOST = new Set(['ERR_STREAM_PREMATURE_CLOSE', 'ECONNRESET', 'EPIPE', 'ECONNABORTED'])

/** Node keeps the first of them, a proxy may go by the last: whose name is checked must be the one that is meant. */
function hasManyHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = itemAt(rawHeaders, i)
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts > 1
}
