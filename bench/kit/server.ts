import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../src/db/embedded.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
/** The flags and the environment of `npm start`. */
const NODE_FLAGS: string[] = scripts.start.match(/--\S+/g)
const ENVIRONMENT = Object.fromEntries(
  scripts.start.match(/MALLOC\S+/g).map((text: string) => text.split('=')),
)

export interface BenchDatabase {
  url: string
  /** The postmaster: its descendants are the whole server. */
  pid: number
  stop: () => Promise<void>
}

/**
 * @param keptIn a folder that outlives the bench, so that what was filled is there the next time
 * @param settings PostgreSQL settings above the ordinary ones
 */
export async function startDatabase(
  keptIn?: string,
  settings: Record<string, string> = {},
): Promise<BenchDatabase> {
  if (keptIn !== undefined) {
    const postgres = await startEmbedded({ home: keptIn, settings, log: () => {} })
    return { url: postgres.url('postgres'), pid: postgres.pid, stop: () => postgres.stop() }
  }
  const home = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const postgres = await startEmbedded({ home: join(home, 'data'), settings, log: () => {} })
  return {
    url: postgres.url('postgres'),
    pid: postgres.pid,
    stop: async () => {
      await postgres.stop()
      // Run as root, the data may be outside the requested home.
      await rm(postgres.home, { recursive: true, force: true })
      await rm(home, { recursive: true, force: true })
    },
  }
}

export interface BenchServer {
  address: string
  pid: number
  /** Of a reporter. */
  token: string
  /** Of the user whose reporter it is: the administrator if it is the first account. */
  session: string
  userId: string
  stop: () => Promise<void>
}

/** Runs a script in a process of its own and waits for the line in which it tells its address. */
export async function startProcess(
  script: string,
  env: Record<string, string> = {},
  root = ROOT,
): Promise<{ process: ChildProcess; address: string }> {
  // BENCH_PROFILE=folder has every process write a CPU profile there when it ends.
  const folder = process.env.BENCH_PROFILE
  const profile = folder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${folder}`]
  const runner = script.endsWith('.ts') ? ['--import', 'tsx'] : NODE_FLAGS
  const child = spawn(process.execPath, [...profile, ...runner, join(root, script)], {
    env: { ...ENVIRONMENT, ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const address = await new Promise<string>((resolve, reject) => {
    let text = ''
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk
      const found = /http:\/\/[\w.:]+/.exec(text)?.[0]
      if (found !== undefined) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`${script} ended with ${code}: ${text}`)))
  })
  return { process: child, address }
}

/**
 * The real server on that database, with a reporter token and without a rate limit in the way.
 * @param checkout the folder of the built service; this one without it
 */
export async function startServer(
  databaseUrl: string,
  env: Record<string, string> = {},
  checkout?: string,
): Promise<BenchServer> {
  const settings = {
    // As `npm start` runs it.
    NODE_ENV: 'production',
    SVC_DATABASE_URL: databaseUrl,
    SVC_PORT: '0',
    SVC_LOG_LEVEL: 'error',
    SVC_RATE_LIMIT_EVENTS_PER_S: '100000000',
    SVC_RATE_LIMIT_BURST: '100000000',
    ...env,
  }
  const { process: child, address } = await startProcess('dist/cli/main.js', settings, checkout)
  const email = `bench-${Date.now()}-${child.pid}@example.com`
  const user = await post(`${address}/api/auth/register`, { email, password: 'bench password' })
  const token = await post(`${address}/api/tokens`, { name: 'bench', scope: 'reporter' }, user.token)
  return {
    address,
    pid: child.pid as number,
    token: token.token,
    session: user.token,
    userId: user.user.id,
    stop: () => stopProcess(child),
  }
}

export async function stopProcess(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

async function post(
  url: string,
  body: unknown,
  token?: string,
): Promise<{ token: string; user: { id: string } }> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return (await response.json()) as { token: string; user: { id: string } }
}
