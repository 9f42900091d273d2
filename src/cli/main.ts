#!/usr/bin/env node
import { ConfigError, readConfig } from '../config.ts'
import { start } from './start.ts'

/** The only file that reads the environment. Everything below takes values. */
const [command = 'start', ...rest] = process.argv.slice(2)

const USAGE = `Usage: svc [start]

  start   run the service (the default); configured by SVC_* variables, see docs/operations.md
`

try {
  switch (command) {
    case 'start': {
      if (rest.length > 0) throw new ConfigError(`start takes no arguments: ${rest.join(' ')}`)
      const { config, warnings } = readConfig(process.env)
      await start(config, warnings)
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
  // One clear line for what the operator can mend; the whole story for what they cannot.
  console.error(error instanceof ConfigError ? `svc: ${error.message}` : error)
  process.exitCode = 1
}
