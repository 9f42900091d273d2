import { type Attributes, type Span, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'

/** Tracing spans (docs/operations.md "OpenTelemetry"). Without an SDK (cli/telemetry.ts) the API's spans do nothing. */
export const tracer = trace.getTracer('svc')

/** Runs `work` in a child span of the current one, and records an error on it. */
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
/**
 * cli/telemetry.ts calls this after the SDK is set up and before a connection pool is opened: statements get spans from
 * then on.
 */
export const traceStatements = (): void => {
  statements = true
}
export const tracesStatements = (): boolean => statements

/**
 * Starts the span of a statement as a child of the current span. Statements outside of requests, commits and tasks have
 * none.
 * @param name the statement's name (docs/architecture.md "Conventions"), never its text
 */
export function startStatement(name: string): Span | undefined {
  if (trace.getActiveSpan()?.isRecording() !== true) return undefined
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name }
  return tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes })
}

/** Records only the error's type, because messages may quote user data. */
export function failSpan(span: Span, error: unknown): void {
  span.setStatus({ code: SpanStatusCode.ERROR })
  span.setAttribute('error.type', error instanceof Error ? error.name : typeof error)
}
