import { DiagLogLevel, diag } from '@opentelemetry/api'
import { ConfigError } from '../config.ts'
import { codeOf } from '../thrown.ts'
import { traceStatements } from '../tracing.ts'

/** The standard variables that ask for an export (docs/operations.md "OpenTelemetry"). */
const ASKING =
  /^OTEL_(EXPORTER_OTLP(_TRACES|_METRICS)?_ENDPOINT|(TRACES|METRICS)_EXPORTER|EXPERIMENTAL_CONFIG_FILE|CONFIG_FILE)$/
const SHUTDOWN_MS = 3_000
/** A collector that cannot be reached fails at every export, so this is logged only now and then. */
const SAID_AGAIN_MS = 60_000

const asksForTelemetry = (environment: NodeJS.ProcessEnv): boolean =>
  environment.OTEL_SDK_DISABLED?.toLowerCase() !== 'true' &&
  Object.entries(environment).some(([name, value]) => ASKING.test(name) && value && value !== 'none')

/**
 * Starts OpenTelemetry's SDK if the environment configures it; the SDK reads those settings itself.
 * @returns a function that sends the rest at the end; undefined if nothing is configured
 * @throws ConfigError if the SDK is not installed: its packages are half as large as the service
 */
export async function startTelemetry(
  environment: NodeJS.ProcessEnv,
): Promise<(() => Promise<void>) | undefined> {
  if (!asksForTelemetry(environment)) return undefined
  const { NodeSDK } = await import('@opentelemetry/sdk-node').catch((error) => {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new ConfigError(
      'OTEL_… variables ask for OpenTelemetry, whose SDK is not installed: npm install -g @opentelemetry/sdk-node where svc is installed, or set OTEL_SDK_DISABLED=true',
    )
  })
  const sdk = new NodeSDK({
    ...(environment.OTEL_SERVICE_NAME === undefined && { serviceName: 'svc' }),
    instrumentations: [],
  })
  if (environment.OTEL_LOG_LEVEL === undefined) logFaults()
  sdk.start()
  traceStatements()
  return async () => {
    const late = new Promise<void>((resolve) => setTimeout(resolve, SHUTDOWN_MS).unref())
    await Promise.race([sdk.shutdown().catch(() => {}), late])
  }
}

function logFaults(): void {
  let said = Number.NEGATIVE_INFINITY
  const say = (message: string): void => {
    if (performance.now() - said < SAID_AGAIN_MS) return
    said = performance.now()
    console.error(`svc: OpenTelemetry: ${message.slice(0, 500)}`)
  }
  const ignore = (): void => {}
  diag.setLogger({ error: say, warn: say, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN)
}
