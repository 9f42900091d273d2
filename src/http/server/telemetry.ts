import {
  type Attributes,
  context,
  metrics,
  type Observable,
  propagation,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import { tracer } from '../../tracing.ts'

/**
 * A span for each request, as a child of the client's `traceparent`, and the histogram of OpenTelemetry's conventions.
 * A route is named by its pattern, because an address may contain a secret.
 */
export function traceRequests(app: FastifyInstance): void {
  const duration = metrics.getMeter('svc').createHistogram('http.server.request.duration', {
    description: 'Time from a request to the end of its answer',
    unit: 's',
    advice: {
      explicitBucketBoundaries: [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
    },
  })
  app.addHook('onRequest', (request, reply, done) => {
    const { raw } = reply
    const route = request.routeOptions.url
    const attributes: Attributes = {
      'http.request.method': request.method,
      'url.scheme': request.protocol,
      ...(route !== undefined && { 'http.route': route }),
    }
    const parent = propagation.extract(context.active(), request.headers)
    const name = route === undefined ? request.method : `${request.method} ${route}`
    const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent)
    span.setAttribute('svc.request_id', request.id)
    const begun = performance.now()
    // Of the connection, because streams do not go through the framework's hooks.
    raw.once('close', () => {
      const status = raw.statusCode
      span.setAttribute('http.response.status_code', status)
      if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
      if (!raw.writableFinished) span.setAttribute('error.type', 'client_disconnected')
      span.end()
      duration.record((performance.now() - begun) / 1000, {
        ...attributes,
        'http.response.status_code': status,
      })
    })
    context.with(trace.setSpan(parent, span), done)
  })
}

/** The counters and gauges of GET /metrics under the same names; of histograms their count and sum. */
export function exportCounters(registry: Registry): void {
  const meter = metrics.getMeter('svc')
  const instruments = new Map<string, Observable>()
  for (const { name, help: description, type } of registry.getMetricsAsArray() as unknown as Described[]) {
    if (type === 'gauge') instruments.set(name, meter.createObservableGauge(name, { description }))
    else if (type === 'counter') instruments.set(name, meter.createObservableCounter(name, { description }))
    else
      for (const one of [`${name}_count`, `${name}_sum`])
        instruments.set(one, meter.createObservableCounter(one, { description }))
  }
  meter.addBatchObservableCallback(
    async (result) => {
      for (const { name, values } of await registry.getMetricsAsJSON())
        for (const { metricName = name, value, labels } of values as Sample[]) {
          const instrument = instruments.get(metricName)
          if (instrument !== undefined && Number.isFinite(value)) result.observe(instrument, value, labels)
        }
    },
    [...instruments.values()],
  )
}

interface Described {
  name: string
  help: string
  type: 'counter' | 'gauge' | 'histogram' | 'summary'
}
interface Sample {
  metricName?: string
  value: number
  labels: Attributes
}
