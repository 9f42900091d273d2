#!/usr/bin/env node
import { ConfigError, readConfig } from '../config.ts'
import { runBackup } from './backup.ts'
import { demo } from './demo.ts'
import { failureLine } from './failure.ts'
import { runRestore } from './restore.ts'
import { start } from './start.ts'
import { runSweep } from './sweep.ts'
import { runUser } from './user.ts'

/** The only file that reads the environment. Everything below takes values. */
const [command = 'start', ...rest] = process.argv.slice(2)

const USAGE = `Usage: svc [start | demo | backup | restore | user | sweep]

  start   run the service (the default); configured by SVC_* variables, see docs/operations.md
  demo    send a recorded and a live training to a running service (SVC_URL, else this machine's), or to one
          it starts
  backup  FILE             write everything into one file; servers may run meanwhile
  restore FILE [--replace] put a backup into an empty database, or in the place of what it holds
  user    list | reset-password | reset-factors | make-admin | unmake-admin | disable | enable: accounts, without signing in
  sweep   [--dry-run]      remove what is past its time now (docs/operations.md), or only say what would go
`

/** The commands that read what follows them. */
const TAKES_ARGUMENTS = new Set(['backup', 'restore', 'user', 'sweep'])

let databaseUrl: string | undefined
try {
  if (rest.length > 0 && !TAKES_ARGUMENTS.has(command))
    throw new ConfigError(`${command} takes no arguments: ${rest.join(' ')}`)
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
    case 'backup':
      await runBackup(rest, settings().config)
      break
    case 'restore':
      await runRestore(rest, settings().config)
      break
    case 'user':
      await runUser(rest, settings().config, process.stdin)
      break
    case 'sweep':
      await runSweep(rest, settings().config)
      break
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
