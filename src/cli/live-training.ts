import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const REPORTER = join(import.meta.dirname, '../../python/reporter')

/**
 * Runs a real training that reports to the service, with the Python of this machine. The reporter needs no
 * installation.
 * @returns a promise of its end; undefined without Python 3.10 or newer
 */
export function startLiveTraining(options: {
  url: string
  token: string
  seconds: number
  /** PATH and HOME of the calling process: a script needs these to start. Nothing else of the environment is passed on. */
  environment: Record<string, string | undefined>
}): Promise<void> | undefined {
  const { url, token, seconds, environment } = options
  const python = ['python3', 'python'].find(
    (name) =>
      spawnSync(name, ['-c', 'import sys; sys.exit(sys.version_info < (3, 10))'], { env: environment })
        .status === 0,
  )
  if (python === undefined) return undefined
  const child = spawn(python, [join(REPORTER, 'examples/live_digits.py'), String(seconds)], {
    env: {
      ...environment,
      PYTHONPATH: join(REPORTER, 'src'),
      SVC_URL: url,
      SVC_TOKEN: token,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  return once(child, 'exit').then(() => {})
}
