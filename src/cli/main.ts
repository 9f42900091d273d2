#!/usr/bin/env node
import { inspect } from 'node:util'
import { CommanderError } from 'commander'
import { readConfig } from '../config.ts'
import { LIBPQ_VARIABLES } from '../db/address-parameters.ts'
import { passwordsIn, scrub } from '../secrets.ts'
import { failureLine } from './failure.ts'
import { createProgram } from './program.ts'

/** The only file that reads the environment; it passes values to all other code. */
let databaseUrl: string | undefined
let secrets: string[] = []
function settings(): ReturnType<typeof readConfig> {
  const read = readConfig(process.env)
  const { replica, smtp } = read.config
  // The URL holds what they say. A client that read them itself would read them differently.
  for (const name of LIBPQ_VARIABLES) delete process.env[name]
  databaseUrl = read.config.databaseUrl
  secrets = passwordsIn(databaseUrl, replica?.url, smtp?.url)
  return read
}

// The AWS SDK would print a warning about old versions of Node.js, which is for those who update it, not for operators.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'

try {
  const args = process.argv.slice(2)
  const program = createProgram({ settings, environment: process.env, input: process.stdin })
  await program.parseAsync(args.length === 0 ? ['start'] : args, { from: 'user' })
} catch (error) {
  if (error instanceof CommanderError) {
    process.exitCode = error.exitCode
  } else {
    const line = failureLine(error, databaseUrl)
    console.error(line === undefined ? scrub(inspect(error), secrets) : `svc: ${line}`)
    process.exitCode = 1
  }
}
