import type { FastifyInstance } from 'fastify'
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import { keysOf } from '../../checked.ts'
import type { Services } from '../../services.ts'
import type { Load } from '../server/load.ts'
import type { SlowBodies } from '../server/slow-bodies.ts'
import { createDatabaseTotals } from './database-totals.ts'
import { countDisk } from './disk.ts'

/**
 * The metrics of GET /metrics (contract §8; docs/operations.md "Monitoring"). Every label has few values, all known in
 * advance: a route is named by its pattern, not by the requested address.
 */
export function createCounters(
  app: FastifyInstance,
  services: Services,
  load: Load,
  bodies: SlowBodies,
): Registry {
  const registry = new Registry()
  const registers = [registry]
  app.addHook('onClose', () => registry.clear())
  collectDefaultMetrics({ register: registry })
  // Gauges with the suffix of counters, which promtool rejects. The metrics without the suffix have the
  // same values, by type.
  for (const kind of ['handles', 'requests', 'resources'])
    registry.removeSingleMetric(`nodejs_active_${kind}_total`)
  countRequests(app, registers)
  countIngest(services, registers)

  countValues(app, services, load, bodies, registers)
  createDatabaseTotals(services, registers)
  countReplica(services, registers)
  countDisk(services.dataFolder, registers)
  return registry
}

/** Values that this process counts anyway. They are read at each scrape. */
function countValues(
  { refusals }: FastifyInstance,
  { live, sse, outages, budget, visitors }: Services,
  load: Load,
  bodies: SlowBodies,
  registers: Registry[],
): void {
  const values: [kind: 'gauge' | 'counter', name: string, help: string, read: () => number][] = [
    ['gauge', 'svc_http_requests_in_flight', 'Requests in progress, without streams', () => load.inFlight],
    [
      'counter',
      'svc_http_requests_shed_total',
      'Requests refused because too many were in progress',
      () => load.shed,
    ],
    [
      'counter',
      'svc_visitor_refusals_total',
      'Requests without a credential that were refused by the budget of their network',
      () => budget.refused.visitor,
    ],
    [
      'counter',
      'svc_credential_refusals_total',
      'GraphQL requests that were refused by the budget of their credential',
      () => budget.refused.credential,
    ],
    [
      'gauge',
      'svc_visitor_work_waiting',
      'Work for callers without a credential that waits',
      () => visitors.counts.waiting,
    ],
    [
      'counter',
      'svc_visitor_work_refused_total',
      'Work for callers without a credential that was refused because too much waited',
      () => visitors.counts.refused,
    ],
    ['gauge', 'svc_http_bodies_waiting', 'Requests whose body is still arriving', () => bodies.waiting],
    [
      'counter',
      'svc_http_bodies_timed_out_total',
      'Requests ended because their body did not arrive in time',
      () => bodies.timedOut,
    ],
    [
      'counter',
      'svc_audit_refusals_left_out_total',
      'Refusals that were not recorded in the audit log, because there were too many',
      () => refusals.leftOut,
    ],
    ['gauge', 'svc_sse_streams', 'Open streams', () => live.counts.streams],
    ['counter', 'svc_sse_frames_total', 'Messages sent to streams', () => live.counts.frames],
    [
      'counter',
      'svc_sse_cut_off_total',
      'Streams closed because the client did not read',
      () => sse.counts.cutOff,
    ],
    [
      'counter',
      'svc_sse_executions_total',
      'Results of GraphQL subscriptions that were executed',
      () => sse.counts.executed,
    ],
    [
      'counter',
      'svc_sse_executions_shared_total',
      'Results of GraphQL subscriptions that were shared with another stream',
      () => sse.counts.shared,
    ],
    [
      'gauge',
      'svc_stream_delay_seconds',
      'How long an open commit has held the stream back',
      () => live.delayS,
    ],
    ['counter', 'svc_sse_failed_total', 'Changes that could not be sent', () => live.counts.failed],
    [
      'counter',
      'svc_database_outages_total',
      'Times that the database became unavailable',
      () => outages.counts.outages,
    ],
    [
      'counter',
      'svc_database_faults_total',
      'Operations that failed because the database was unavailable',
      () => outages.counts.faults,
    ],
  ]
  for (const [kind, name, help, read] of values) {
    if (kind === 'gauge') new Gauge({ name, help, registers, collect: asks(read) })
    else
      new Counter({
        name,
        help,
        registers,
        collect() {
          this.reset()
          this.inc(read())
        },
      })
  }
}

/** prom-client calls it with the gauge as `this`. */
const asks = (read: () => number) =>
  function (this: Gauge): void {
    this.set(read())
  }

/** Streams last as long as a page is open, so their duration is not counted. */
const STREAMS = new Set(['/api/sse'])

function countRequests(app: FastifyInstance, registers: Registry[]): void {
  const requests = new Counter({
    name: 'svc_http_requests_total',
    help: 'Requests, by method, route and status',
    labelNames: ['method', 'route', 'status'] as const,
    registers,
  })
  const seconds = new Histogram({
    name: 'svc_http_request_seconds',
    help: 'Duration of requests, by route',
    labelNames: ['route'] as const,
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    registers,
  })
  // Looking a counter up by its labels costs more than counting does.
  const ofRoute = new Map<string, ReturnType<typeof seconds.labels>>()
  const ofAnswer = new Map<string, ReturnType<typeof requests.labels>>()
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const { method } = request
    const { statusCode } = reply
    const key = `${method} ${statusCode} ${route}`
    let answers = ofAnswer.get(key)
    if (answers === undefined) {
      answers = requests.labels({ method, route, status: statusCode })
      ofAnswer.set(key, answers)
    }
    answers.inc()
    if (!STREAMS.has(route)) {
      let times = ofRoute.get(route)
      if (times === undefined) {
        times = seconds.labels({ route })
        ofRoute.set(route, times)
      }
      times.observe(reply.elapsedTime / 1000)
    }
    done()
  })
}

function countReplica({ replica }: Services, registers: Registry[]): void {
  if (replica === undefined) return
  new Counter({
    name: 'svc_replica_reads_total',
    help: 'Reads for the replica, by the database that answered',
    labelNames: ['answered_by'] as const,
    registers,
    collect() {
      this.reset()
      this.inc({ answered_by: 'replica' }, replica.counts.replica)
      this.inc({ answered_by: 'primary' }, replica.counts.primary)
    },
  })
  const lag = {
    bytes: 'Write-ahead log that the replica has not replayed yet',
    seconds: 'Age of the last transaction that the replica replayed; 0 if it has replayed everything',
  }
  let asked: ReturnType<typeof replica.lag> | undefined
  for (const unit of keysOf(lag))
    new Gauge({
      name: `svc_replica_lag_${unit}`,
      help: lag[unit],
      registers,
      async collect() {
        this.reset()
        // Both gauges of a scrape share one query.
        asked ??= replica.lag().finally(() => {
          asked = undefined
        })
        const known = (await asked.catch(() => undefined))?.[unit] ?? null
        if (known === null) this.remove()
        else this.set(known)
      },
    })
}

function countIngest({ ingest }: Services, registers: Registry[]): void {
  new Counter({
    name: 'svc_ingest_events_total',
    help: 'Events received, by result: stored, duplicate or rejected',
    labelNames: ['result'] as const,
    registers,
    collect() {
      this.reset()
      for (const [result, n] of Object.entries(ingest.counts)) this.inc({ result }, n)
    },
  })
  const groupEvents = new Histogram({
    name: 'svc_ingest_group_events',
    help: 'Events per transaction',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    registers,
  })
  const groupSeconds = new Histogram({
    name: 'svc_ingest_group_seconds',
    help: 'Duration of a transaction that stores events',
    buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    registers,
  })
  ingest.onGroup(({ events, seconds }) => {
    groupEvents.observe(events)
    groupSeconds.observe(seconds)
  })
  new Gauge({
    name: 'svc_ingest_waiting_events',
    help: 'Events that wait for the current transaction',
    registers,
    collect: asks(() => ingest.group.waiting.events),
  })
  new Gauge({
    name: 'svc_ingest_waiting_characters',
    help: 'Characters of the events that wait for the current transaction',
    registers,
    collect: asks(() => ingest.group.waiting.characters),
  })
}
