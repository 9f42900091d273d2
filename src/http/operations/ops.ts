import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Registry } from 'prom-client'
import { z } from 'zod'
import { createPing } from '../../db/ping.ts'
import { isAdmin } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { addRoutes, type Routes } from '../request/routes.ts'

const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1'])
const open = { tags: ['operations'], security: [] }

interface Context {
  services: Services
  registry: Registry
}

/** Probes and metrics for operators (contract §8). */
export function opsRoutes(app: FastifyInstance, services: Services, registry: Registry): void {
  addRoutes(app, { services, registry }, [livezRoute, readyzRoute, metricsRoute])
}

function livezRoute(routes: Routes): void {
  routes.get(
    '/livez',
    {
      config: { anyHost: true },
      schema: {
        ...open,
        summary: 'The process answers',
        response: { 200: z.object({ status: z.literal('ok') }) },
      },
    },
    () => ({
      status: 'ok' as const,
    }),
  )
}

function readyzRoute(routes: Routes, { services }: Context): void {
  const { sql, replica, pendingMigrations } = services
  const ping = createPing(async () => {
    await sql`/* ops.ping */ select 1`
    return pendingMigrations()
  }, TIMEOUT_MS)
  routes.get(
    '/readyz',
    {
      config: { anyHost: true },
      schema: {
        ...open,
        summary: 'The database answers and is migrated',
        response: {
          200: z.object({
            status: z.literal('ready'),
            replica: z
              .object({ usable: z.boolean(), lag_s: z.number().nullable(), lag_bytes: z.number().nullable() })
              .optional()
              .describe(
                'With SVC_DATABASE_READ_URL, the lag of the replica. The primary answers while it is unreachable',
              ),
          }),
        },
      },
    },
    async () => {
      const pending = await ping().catch((cause) => {
        throw new Problem('unavailable', { detail: 'The database does not answer', cause })
      })
      if (pending.length > 0)
        throw new Problem('unavailable', { detail: `Migrations are pending: ${pending.join(', ')}` })
      const status = 'ready' as const
      if (replica === undefined) return { status }
      const lag = await replica.lag().catch(() => undefined)
      return {
        status,
        replica: { usable: lag !== undefined, lag_s: lag?.seconds ?? null, lag_bytes: lag?.bytes ?? null },
      }
    },
  )
}

function metricsRoute(routes: Routes, { services, registry }: Context): void {
  const { config } = services
  routes.get(
    '/metrics',
    {
      schema: {
        ...open,
        summary: 'Metrics in the Prometheus text format; for loopback addresses and administrators',
      },
    },
    async (request, reply) => {
      if (!isOnThisMachine(request, config.trustProxy) && !isAdmin(await request.caller()))
        throw new Problem('forbidden')
      return reply.header('content-type', registry.contentType).send(await registry.metrics())
    },
  )
}

/** A database that accepts a query but does not answer it counts as unavailable. */
const TIMEOUT_MS = 3_000

/**
 * Whether the request comes from this machine itself. A proxy on this machine forwards requests of others; unless it is
 * trusted, the client is unknown.
 */
function isOnThisMachine({ ip, headers }: FastifyRequest, trustProxy: boolean): boolean {
  const passedOn = FORWARDED.some((name) => headers[name] !== undefined)
  return LOOPBACK.has(ip) && (trustProxy || !passedOn)
}

const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'via']
