import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const ROOT = join(import.meta.dirname, '../..')
/** Keeps a checkpoint and trains on, until it is killed. */
const TRAINING = `
import sys, time
import svc_reporter as svc
run = svc.init(project="checkpoints", name="large")
run.save(sys.argv[1], base_path=sys.argv[2], policy="now")
print("batch", run.id, flush=True)
while True:
    run.log({"loss": 1.0})
    time.sleep(1)
`

/** A training with the Python reporter that saved a checkpoint, and what is left of it after kill -9. */
export interface CheckpointRun {
  batch: string
  kill(): void
  /** Runs `svc-reporter sync`, as its user would. @returns what it printed */
  sync(): Promise<string>
  said(): string
}

/**
 * @param file in `home`, which is the home of the account too
 * @param url of the service, or of a proxy before it
 */
export async function startCheckpointRun(
  home: string,
  file: string,
  { url, token }: { url: string; token: string },
): Promise<CheckpointRun> {
  const env = {
    PATH: process.env.PATH,
    HOME: home,
    PYTHONPATH: join(ROOT, 'python/reporter/src'),
    SVC_URL: url,
    SVC_TOKEN: token,
  }
  const run = (args: string[]): { child: ChildProcess; said: () => string } => {
    const child = spawn('python3', args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
    return { child, said: () => said }
  }
  const { child, said } = run(['-c', TRAINING, file, home])
  const batchOf = () => /^batch (\S+)$/m.exec(said())?.[1]
  while (batchOf() === undefined) {
    if (child.exitCode !== null) throw new Error(`the training ended with ${child.exitCode}:\n${said()}`)
    await sleep(50)
  }
  return {
    batch: batchOf() as string,
    kill: () => child.kill('SIGKILL'),
    sync: () =>
      new Promise((resolve) => {
        const sync = run(['-m', 'svc_reporter', 'sync'])
        sync.child.once('close', () => resolve(sync.said()))
      }),
    said,
  }
}

export async function hashOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk)
  return hash.digest('hex')
}

/** The SHA-256 of the bytes that the service returns for a file; undefined while it has not arrived. */
export async function hashOfStored(
  address: string,
  batch: string,
  path: string,
  token: string,
): Promise<string | undefined> {
  const answer = await fetch(`${address}/api/batches/${batch}/files/${path}`, {
    headers: { authorization: `Bearer ${token}` },
  }).catch(() => undefined)
  if (answer?.status !== 200 || answer.body === null) {
    await answer?.body?.cancel()
    return undefined
  }
  const hash = createHash('sha256')
  for await (const chunk of answer.body) hash.update(chunk)
  return hash.digest('hex')
}
