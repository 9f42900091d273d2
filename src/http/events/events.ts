import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { entryOf, required } from '../../checked.ts'
import { eventSchema } from '../../domain/events/index.ts'
import {
  ACCEPT_POST,
  EPOCHS_TYPE,
  EPOCHS_VERSION,
  type Ingest,
  type Outcome,
  type RequestFacts,
  receiveEpochs,
  receiveEvent,
  receiveEvents,
  type Sender,
  type Stored,
} from '../../ingest/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { errorOf } from '../../thrown.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { isEpochs } from '../server/body.ts'
import { countForUser } from '../server/load.ts'

const ignored = z
  .array(z.object({ key: z.string(), reason: z.enum(['empty_name', 'name_too_long', 'too_many_series']) }))
  .optional()
  .describe('Values of a job_epoch that were not stored; the rest of the event is stored')
const deleted = z
  .literal(true)
  .optional()
  .describe('The batch is in the trash: the event is stored, and visible only if the batch is restored')
const stored = z.object({ db_id: z.int(), deduplicated: z.boolean(), ignored, deleted })
const refused = z.object({
  db_id: z.null(),
  deduplicated: z.literal(false),
  error: z.object({
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
  }),
})

/**
 * The oldest svc-reporter whose events are complete and correct for this service. Older ones still work, but are asked
 * to upgrade. Raise it with a release that needs events which an older reporter does not send correctly.
 */
export const OLDEST_REPORTER = '0.1.0'
const NEEDS = 'x-svc-reporter-needed'

/**
 * The only routes that accept telemetry (specification §4.1; contract §1). The body arrives as bytes and ingest
 * validates it; the schemas here only document it.
 */
export function eventRoutes(app: FastifyInstance, { ingest }: Services): void {
  addRoutes(app, ingest, [eventRoute, eventsRoute])
}

/** The sender of each request, from its token. */
const senders = new WeakMap<FastifyRequest, Sender>()
const senderOf = (request: FastifyRequest): Sender => entryOf(senders, request)

function admit(ingest: Ingest, request: FastifyRequest, sender: Sender): void {
  ingest.group.refuseIfFull(sender.id)
  senders.set(request, sender)
  countForUser(request, sender.id)
  if (request.url.includes('?')) refuseQuery(request.query)
}

/** The options of both routes: the token is checked before the body is read. */
const optionsOf = (ingest: Ingest) => ({
  config: { rawJson: true, takesEvents: true },
  validatorCompiler: () => () => true,
  serializerCompiler: () => (data: unknown) => JSON.stringify(data),
  // A callback: for most events a promise would cost more than the check itself.
  onRequest: (request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) => {
    const { authorization } = request.headers
    try {
      const known = ingest.recognise(authorization)
      if (known === undefined) {
        const asked = ingest.authenticate(authorization)
        asked.then((sender) => admit(ingest, request, sender)).then(() => done(), done)
        return
      }
      admit(ingest, request, known)
    } catch (error) {
      done(errorOf(error))
      return
    }
    done()
  },
})

function eventRoute(routes: Routes, ingest: Ingest): void {
  routes.post<{ Body: Buffer | undefined }>(
    '/api/events',
    {
      ...optionsOf(ingest),
      schema: { tags: ['ingest'], summary: 'Store one event', body: eventSchema, response: { 200: stored } },
    },
    async (request, reply) => {
      const { body, headers } = await receiveEvent(ingest, senderOf(request), request.body, factsOf(request))
      reply.headers(headers)
      sendVersion(request, reply)
      return storedOf(body)
    },
  )
}

function eventsRoute(routes: Routes, ingest: Ingest): void {
  routes.post<{ Body: Buffer | undefined }>(
    '/api/events/batch',
    {
      ...optionsOf(ingest),
      config: { rawJson: true, takesEvents: true, takesEpochs: true },
      schema: {
        tags: ['ingest'],
        summary: 'Store up to 500 events; one result each, by position',
        description:
          `Many job_epoch events of one job may come as columns, with the media type \`${EPOCHS_TYPE};version=${EPOCHS_VERSION}\`: ` +
          'docs/contract.md §1 has its form. The answer is the same as for these events in an array.',
        body: z.array(eventSchema).max(500),
        response: { 200: z.object({ results: z.array(z.union([stored, refused])) }) },
      },
    },
    async (request, reply) => {
      const receive = inColumns(request) ? receiveEpochs : receiveEvents
      const { body, headers } = await receive(ingest, senderOf(request), request.body, factsOf(request))
      reply.headers(headers)
      sendVersion(request, reply)
      return { results: body.map(resultOf) }
    },
  )
}

/** The reporter compares it with its own version (python/reporter, _delivery/needed_version.py). */
function sendVersion({ headers }: FastifyRequest, reply: FastifyReply): void {
  if (!headers['user-agent']?.startsWith('svc-reporter/')) return
  reply.header(NEEDS, OLDEST_REPORTER).header('accept-post', ACCEPT_POST)
}

/** @throws Problem unsupported_media_type for an unknown version */
function inColumns(request: FastifyRequest): boolean {
  if (!isEpochs(request)) return false
  const version = /;\s*version="?([^";\s]*)/i.exec(required(request.headers['content-type']))?.[1]
  if (version === EPOCHS_VERSION) return true
  throw new Problem('unsupported_media_type', {
    detail: `Send ${EPOCHS_TYPE} in version ${EPOCHS_VERSION}, the only one that is supported`,
  })
}

function factsOf({ headers }: FastifyRequest): RequestFacts {
  const sentAt = headers['x-svc-sent-at']
  return {
    sentAt: typeof sentAt === 'string' ? sentAt : undefined,
    namesSenders: headers['x-svc-sender'] === 'event-id',
  }
}

/** Refuses unknown parameters, as all of REST does (contract "General rules"); these routes have none. */
function refuseQuery(query: unknown): void {
  const errors = Object.keys(query ?? {}).map((path) => ({ path, message: 'is not known here' }))
  if (errors.length > 0) throw new Problem('invalid_query', { errors })
}

const storedOf = (outcome: Stored): z.output<typeof stored> => ({
  db_id: outcome.dbId,
  deduplicated: outcome.deduplicated,
  ...(outcome.ignored && { ignored: outcome.ignored }),
  ...(outcome.deleted && { deleted: true }),
})

function resultOf(outcome: Outcome) {
  if (!('problem' in outcome)) return storedOf(outcome)
  const { status, code, detail, title, errors } = outcome.problem
  return {
    db_id: null,
    deduplicated: false,
    error: { status, code, detail: detail ?? title, ...(errors === undefined ? {} : { errors }) },
  }
}
