import { once } from 'node:events'
import { createServer } from 'node:net'
import type { App, StartingDatabase } from '../app.ts'
import type { Config } from '../config.ts'
import { hasNoDatabase } from '../db/embedded/home.ts'
import { startEmbedded } from '../db/embedded.ts'
import { startTelemetry } from './telemetry.ts'

/**
 * Runs the service until SIGTERM or Ctrl-C, then finishes the requests in progress. A second signal ends it at once.
 * Resolves when the service answers.
 * @param environment the settings of OpenTelemetry
 */
export async function start(
  config: Config,
  warnings: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<App> {
  for (const warning of warnings) console.error(`svc: ${warning}`)
  const endTelemetry = await startTelemetry(environment)
  const starting = startServer(config, endTelemetry !== undefined)
  // Registered before the start: Ctrl-C during the start must also stop the database.
  const ending = endOnSignals(async () => {
    await (await starting).stop()
    await endTelemetry?.()
  })
  const app = await starting
  if (ending.begun) return app
  const address = config.publicUrl ?? app.address
  console.log(`
  Experiment monitor is running.

    Address   ${address}
    Data      ${app.data}
    API       ${address}/api/docs
    Docs      ${address}/docs/

  ${await firstStep(app.hasUsers, address)}
  Stop with Ctrl-C.
`)
  return app
}

/** PostgreSQL starts while the code of the service is loaded, because both take about equally long. */
async function startServer(config: Config, telemetry: boolean): Promise<App> {
  if (config.databaseUrl === undefined && hasNoDatabase(config.dataDir)) await checkPort(config)
  const database = config.databaseUrl === undefined ? startDatabase(config.dataDir) : undefined
  const { startApp } = await import('../app.ts')
  return startApp(config, { telemetry, ...(database && { database }) })
}

/**
 * Fails if the port is in use, before a first start creates its database. A later start may find the port in use by the
 * server that it replaces, which is still draining.
 */
async function checkPort({ host, port }: Config): Promise<void> {
  const probe = createServer()
  await once(probe.listen({ host, port }), 'listening')
  await once(probe.close(), 'close')
}

function startDatabase(home: string): StartingDatabase {
  const said: string[] = []
  let log = (message: string): void => void said.push(message)
  const started = startEmbedded({ home, keepRunning: true, log: (message) => log(message) })
  // startApp awaits it and reports its error.
  started.catch(() => {})
  return {
    started,
    logTo(to) {
      log = to
      for (const message of said.splice(0)) to(message)
    },
  }
}

function endOnSignals(stop: () => Promise<void>): { begun: boolean } {
  const ending = { begun: false }
  const end = async (signal: string): Promise<void> => {
    if (ending.begun) process.exit(1)
    ending.begun = true
    console.log(`svc: ${signal}, draining`)
    // An orchestrator would kill the process after this time anyway (contract §8).
    setTimeout(() => process.exit(1), 10_000).unref()
    // A failed start closes what it opened; main.ts prints the reason.
    const failed = await stop().then(
      () => false,
      () => true,
    )
    process.exit(failed ? 1 : 0)
  }
  process.on('SIGTERM', () => void end('SIGTERM'))
  process.on('SIGINT', () => void end('SIGINT'))
  return ending
}

async function firstStep(hasUsers: () => Promise<boolean>, address: string): Promise<string> {
  if (await hasUsers()) return 'Sign in with your account.'
  return `Open the address: the first account becomes the administrator. In a shell:

    curl ${address}/api/auth/register -H 'content-type: application/json' \\
      -d '{"email":"you@example.com","password":"at least 8 characters"}'
`
}
