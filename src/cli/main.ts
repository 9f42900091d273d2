#!/usr/bin/env node
import { ConfigError, readConfig } from '../config.ts'
import { demo } from './demo.ts'
import { failureLine } from './failure.ts'
import { start } from './start.ts'

/** The only file that reads the environment. Everything below takes values. */
const [command = 'start', ...rest] = process.argv.slice(2)

const USAGE = `Usage: svc [start | demo]

  start   run the service (the default); configured by SVC_* variables, see docs/operations.md
  demo    send a recorded and a live training to a running service (SVC_URL, else this machine's), or to one
          it starts
`

let databaseUrl: string | undefined
try {
  if (rest.length > 0) throw new ConfigError(`${command} takes no arguments: ${rest.join(' ')}`)
  switch (command) {
    case 'start': {
      const { config, warnings } = settings()
      await start(config, warnings)
      break
    }
    case 'demo': {
      const { config, warnings } = settings()
      const { SVC_URL, SVC_DEMO_EMAIL, SVC_DEMO_PASSWORD, SVC_DEMO_LIVE_S, PATH, HOME } = process.env
      await demo({
        url: SVC_URL,
        account: SVC_DEMO_EMAIL && SVC_DEMO_PASSWORD ? [SVC_DEMO_EMAIL, SVC_DEMO_PASSWORD] : undefined,
        config,
        warnings,
        liveS: seconds(SVC_DEMO_LIVE_S ?? '120'),
        environment: { PATH, HOME },
      })
      break
    }
    case 'help':
    case '--help':
      process.stdout.write(USAGE)
      break
    default:
      throw new ConfigError(`there is no command ${command}\n${USAGE}`)
  }
} catch (error) {
  const line = failureLine(error, databaseUrl)
  console.error(line === undefined ? error : `svc: ${line}`)
  process.exitCode = 1
}

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new ConfigError('SVC_DEMO_LIVE_S is not valid: must be a whole number')
  return Number(text)
}

function settings(): ReturnType<typeof readConfig> {
  const read = readConfig(process.env)
  databaseUrl = read.config.databaseUrl
  return read
}
