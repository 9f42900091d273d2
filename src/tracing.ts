import { type Attributes, type Span, SpanStatusCode, trace } from '@opentelemetry/api'

/**
 * Spans of what the service does (docs/operations.md "OpenTelemetry"). Without an SDK (cli/telemetry.ts) they are those of
 * the API alone, which keep nothing.
 */
export const tracer = trace.getTracer('svc')

/** Runs `work` in a span, which is its caller's child and tells what it throws. */
export function inSpan<T>(name: string, attributes: Attributes, work: () => Promise<T>): Promise<T> {
  return tracer.startActiveSpan(name, { attributes }, async (span) => {
    try {
      return await work()
    } catch (error) {
      failSpan(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

/** Its kind and code only: messages may quote what users sent. */
function failSpan(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
}
