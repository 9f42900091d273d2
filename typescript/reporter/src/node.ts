/** The reporter in Node: events wait on disk, and the run ends with the program. */
import { cpus, hostname, userInfo } from 'node:os'
import { openStore } from './disk.ts'
import { type Options, type Platform, Run } from './run.ts'

export type { Event, EventType } from './__generated__/events.ts'
export type { Counts } from './delivery.ts'
export { type Job, type Options, type Run, StopRequested } from './run.ts'

/** Begins a run. It ends by `finish`, or with the program: failed if that ends with an error. */
export function init(options: Options): Run {
  const { SVC_URL: url, SVC_TOKEN: token, SVC_BATCH_ID: batch } = process.env
  const platform: Platform = {
    url,
    token,
    source: { host: hostname(), user: userName(), command: commandLine(), ...(batch && { batch }) },
    snapshot: {
      cwd: process.cwd(),
      command: commandLine(),
      hostname: hostname(),
      pid: process.pid,
      node: process.version,
      platform: process.platform,
    },
    openStore,
    sample: sampler(),
    print: (text) => process.stderr.write(`${text}\n`),
    watchEnd,
  }
  return new Run(options, platform)
}

function watchEnd(run: Run): () => void {
  let thrown: unknown
  // `beforeExit` comes while one may still wait; `exit` after process.exit() or an error, when one may not.
  const onEmpty = () => void run.finish()
  const onError = (error: unknown) => {
    thrown = error
  }
  const onExit = (code: number) =>
    run.endNow(thrown ?? (code === 0 ? undefined : new Error(`exit status ${code}`)))
  process.once('beforeExit', onEmpty).once('uncaughtExceptionMonitor', onError).once('exit', onExit)
  return () => {
    process.off('beforeExit', onEmpty).off('uncaughtExceptionMonitor', onError).off('exit', onExit)
  }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return '' // a user without an entry in the system's list, as in containers
  }
}

const SECRET = /(token|secret|passw|api[-_]?key)/i

/** The command with quotes where a shell needs them, and values of arguments that are named like secrets masked. */
function commandLine(): string {
  const masked = process.argv.map((argument, i, all) => {
    const [name = '', value] = argument.split(/=(.*)/s)
    if (value !== undefined) return SECRET.test(name) ? `${name}=***` : argument
    return i > 1 && /^-/.test(all[i - 1] ?? '') && SECRET.test(all[i - 1] ?? '') ? '***' : argument
  })
  return masked
    .map((one) => (/^[\w@%+=:,./*-]+$/.test(one) ? one : `'${one.replaceAll("'", `'"'"'`)}'`))
    .join(' ')
}

/** Processor use of the machine since the last sample, and the memory of this process. */
function sampler(): () => Record<string, number> {
  let before = times()
  return () => {
    const now = times()
    const total = now.total - before.total
    const busy = total > 0 ? 1 - (now.idle - before.idle) / total : 0
    before = now
    return {
      cpu_util_pct: Math.round(busy * 1_000) / 10,
      ram_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
    }
  }
}

function times(): { idle: number; total: number } {
  const all = cpus().map(({ times }) => times)
  const sum = (of: (one: (typeof all)[number]) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    idle: sum(({ idle }) => idle),
    total: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  }
}
