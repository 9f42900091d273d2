// The Python that the tests of python/ run in: .venv at the top of the checkout, made from the machine's Python and
// from what the packages say they need. Made again when those words change.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const exec = promisify(execFile)
const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const VENV = join(ROOT, '.venv')
const BIN = join(VENV, process.platform === 'win32' ? 'Scripts' : 'bin')
const PYTHON = join(BIN, 'python')
const STAMP = join(VENV, 'made-from')
const AT_LEAST = [3, 10]
const OPTIONS = { cwd: ROOT, maxBuffer: 64 * 1024 * 1024, timeout: 10 * 60_000 }

/**
 * Makes the environment with everything that the tests of these folders need.
 * @returns the folder of its programs
 * @throws Error in a few lines: no Python, or what pip said
 */
export async function preparePython(folders) {
  const python = await findPython()
  const words = folders
    .flatMap((folder) => [join(folder, 'pyproject.toml'), join(folder, 'requirements-test.txt')])
    .map((file) => (existsSync(join(ROOT, file)) ? readFileSync(join(ROOT, file), 'utf8') : ''))
  const stamp = createHash('sha256')
    .update([python.path, python.version, ...words].join('\0'))
    .digest('hex')
  if (existsSync(STAMP) && readFileSync(STAMP, 'utf8') === stamp && existsSync(PYTHON)) return { bin: BIN }
  await makeEnvironment(python.path, VENV)
  const needed = folders.flatMap((folder) => {
    const file = join(folder, 'requirements-test.txt')
    return [...(existsSync(join(ROOT, file)) ? ['-r', file] : []), '-e', folder]
  })
  await say(PYTHON, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...needed])
  writeFileSync(STAMP, stamp)
  return { bin: BIN }
}

/**
 * Makes an empty environment, with pip and nothing else, for tests of installing.
 * @returns the folder of its programs
 */
export async function freshEnvironment(folder) {
  await makeEnvironment((await findPython()).path, folder)
  return join(folder, process.platform === 'win32' ? 'Scripts' : 'bin')
}

/** python3 if it is new enough, else the newest that has a name of its own. A shim may be there and still not run. */
export async function findPython() {
  const names = ['python3', ...[14, 13, 12, 11, 10].map((minor) => `python3.${minor}`), 'python']
  for (const name of names) {
    const script = 'import sys; print(sys.executable); print("%d.%d.%d" % sys.version_info[:3])'
    const told = await exec(name, ['-c', script]).catch(() => undefined)
    const [path, version] = told?.stdout.trim().split(/\r?\n/) ?? []
    const [major, minor] = version?.split('.').map(Number) ?? []
    if (major > AT_LEAST[0] || (major === AT_LEAST[0] && minor >= AT_LEAST[1])) return { path, version }
  }
  throw new Error(`no Python ${AT_LEAST.join('.')} or newer was found: tried ${names.join(', ')}`)
}

/**
 * A new virtual environment with pip in `folder`, in place of what is there.
 * Some systems ship Python without ensurepip, and then venv fails after half of its work; virtualenv brings a pip.
 */
export async function makeEnvironment(python, folder) {
  rmSync(folder, { recursive: true, force: true })
  const first = await exec(python, ['-m', 'venv', folder], OPTIONS).then(
    () => undefined,
    (error) => error,
  )
  if (first === undefined) return
  rmSync(folder, { recursive: true, force: true })
  const apart = mkdtempSync(join(tmpdir(), 'svc-virtualenv-'))
  try {
    const args = [
      '-m',
      'pip',
      'install',
      '--quiet',
      '--disable-pip-version-check',
      '--target',
      apart,
      'virtualenv',
    ]
    await say(python, args)
    await say(python, ['-m', 'virtualenv', '--quiet', folder], { PYTHONPATH: apart })
  } catch (error) {
    throw new Error(
      `no virtual environment could be made.\n${first.stdout ?? ''}${first.stderr ?? ''}\n${error.message}`,
    )
  } finally {
    rmSync(apart, { recursive: true, force: true })
  }
}

async function say(command, args, env = {}) {
  try {
    await exec(command, args, { ...OPTIONS, env: { ...process.env, ...env } })
  } catch (error) {
    throw new Error(
      `${args.slice(0, 3).join(' ')} failed: ${(error.stderr || error.message).trim().slice(-3000)}`,
    )
  }
}
