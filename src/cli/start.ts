import { startApp } from '../app.ts'
import type { Config } from '../config.ts'

/** Runs the service until SIGTERM or Ctrl-C, then drains. A second signal ends it at once. */
export async function start(config: Config, warnings: string[]): Promise<void> {
  for (const warning of warnings) console.error(`svc: ${warning}`)
  const app = await startApp(config)
  const address = config.publicUrl ?? app.address
  console.log(`
  Experiment monitor is running.

    Address   ${address}
    Data      ${app.data}
    API       ${address}/api/docs

  ${await firstStep(app.hasUsers, address)}
  Stop with Ctrl-C.
`)
  let stopping = false
  const stop = async (signal: string): Promise<void> => {
    if (stopping) process.exit(1)
    stopping = true
    console.log(`svc: ${signal}, draining`)
    // Longer than this and an orchestrator would kill it anyway (contract §8).
    setTimeout(() => process.exit(1), 10_000).unref()
    await app.stop()
    process.exit(0)
  }
  process.on('SIGTERM', () => void stop('SIGTERM'))
  process.on('SIGINT', () => void stop('SIGINT'))
}

async function firstStep(hasUsers: () => Promise<boolean>, address: string): Promise<string> {
  if (await hasUsers()) return 'Sign in with your account.'
  return `The first account becomes the administrator. Register it:

    curl ${address}/api/auth/register -H 'content-type: application/json' \\
      -d '{"email":"you@example.com","password":"at least 8 characters"}'
`
}
