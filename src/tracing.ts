import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

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

let statements = false
/** For cli/telemetry.ts, once there is an SDK and before a pool is opened: statements have spans from now on. */
export const traceStatements = (): void => {
  statements = true
}
export const tracesStatements = (): boolean => statements

/**
 * The span of a statement, as a child of what asks for it: a statement that no request, commit or task waits for has none.
 * @param name its name (docs/architecture.md "Conventions"), never its text
 */
export function startStatement(name: string): Span | undefined {
  if (trace.getActiveSpan()?.isRecording() !== true) return undefined
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name }
  return tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes })
}

/** Its kind and code only: messages may quote what users sent. */
export function failSpan(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
}
