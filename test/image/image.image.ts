import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { freePort } from '../kit/free-port.ts'

/**
 * The image of the Dockerfile, built by Buildah over a Debian of its own (no registry of images is needed), and run by crun
 * as docs/install.md recommends: as its user, on a read-only root, without capabilities. `npm run test:image` runs it.
 */
const CHECKOUT = join(import.meta.dirname, '../..')
const LONG = 20 * 60_000

const run = promisify(execFile)
const scratch = mkdtempSync(join(tmpdir(), 'svc-image-'))
const containers = new Set<string>()
afterAll(async () => {
  for (const name of containers) await crun('delete', '--force', name).catch(() => {})
  await buildah('umount', '--all').catch(() => {})
  rmSync(scratch, { recursive: true, force: true })
})

/**
 * The limits of a control group are the operator's. Where the machine has control groups of both versions, which crun
 * refuses, it gets a mount of the second alone.
 */
function crunCommand(args: readonly string[]): [command: string, args: string[]] {
  const own = ['--cgroup-manager=disabled', ...args]
  if (!existsSync('/sys/fs/cgroup/unified')) return ['crun', own]
  const remount = 'umount -R /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup && exec crun "$@"'
  return ['unshare', ['--mount', 'sh', '-c', remount, 'crun', ...own]]
}
const crun = (...args: string[]) => run(...crunCommand(args))

/** With a store of its own. */
async function buildah(...args: string[]): Promise<string> {
  const store = [
    '--root',
    join(scratch, 'store'),
    '--runroot',
    join(scratch, 'run'),
    '--storage-driver',
    'vfs',
  ]
  const { stdout } = await run('buildah', [...store, ...args], { cwd: CHECKOUT, maxBuffer: 1 << 28 })
  return stdout.trim()
}

/** Debian with this Node and npm, and the way to the package registries that this machine has. */
async function makeBase(): Promise<void> {
  const base = join(scratch, 'base')
  await run('debootstrap', ['--variant=minbase', '--include=ca-certificates,libstdc++6', 'bookworm', base], {
    maxBuffer: 1 << 28,
  })
  const copy = (from: string, to = from): void => {
    if (existsSync(from)) cpSync(from, join(base, to), { recursive: true, dereference: true })
  }
  copy(process.execPath, '/usr/local/bin/node')
  copy(join(dirname(process.execPath), '../lib/node_modules/npm'), '/usr/local/lib/node_modules/npm')
  symlinkSync('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/local/bin/npm'))
  for (const file of ['/etc/npmrc', '/etc/apt/apt.conf.d', '/etc/apt/sources.list.d']) copy(file)
  copy(join(homedir(), '.npmrc'), '/root/.npmrc')
  const authorities = '/etc/ssl/certs/ca-certificates.crt'
  const { NODE_EXTRA_CA_CERTS: own = authorities } = process.env
  writeFileSync(join(base, authorities), readFileSync(own))
  appendFileSync(join(base, 'root/.npmrc'), `\ncafile=${authorities}\n`)
  const from = await buildah('from', 'scratch')
  await buildah('copy', '--quiet', from, base, '/')
  await buildah('commit', '--quiet', from, 'localhost/node:base')
  rmSync(base, { recursive: true, force: true })
}

interface ImageConfig {
  User: string
  Env: string[]
  Entrypoint: string[]
  Cmd: string[]
  WorkingDir: string
  Healthcheck: { Test: string[] }
}

/** A bundle of the OCI runtime for a container of the image. */
async function makeBundle(
  name: string,
  root: string,
  config: ImageConfig,
  port: number,
  data: string,
): Promise<string> {
  const bundle = join(scratch, name)
  mkdirSync(bundle)
  await run('crun', ['spec'], { cwd: bundle })
  const file = join(bundle, 'config.json')
  const spec = JSON.parse(readFileSync(file, 'utf8'))
  const [uid, gid] = config.User.split(':').map(Number)
  spec.root = { path: root, readonly: true }
  Object.assign(spec.process, {
    terminal: false,
    user: { uid, gid },
    args: [...config.Entrypoint, ...config.Cmd],
    env: [...config.Env.filter((one) => !one.startsWith('SVC_PORT=')), `SVC_PORT=${port}`],
    cwd: config.WorkingDir,
    noNewPrivileges: true,
    capabilities: {},
  })
  spec.mounts.push(
    { destination: '/data', type: 'bind', source: data, options: ['bind', 'rw'] },
    { destination: '/tmp', type: 'tmpfs', source: 'tmpfs', options: ['rw', 'nosuid', 'nodev'] },
  )
  // The host's network, so that the test reaches the port.
  spec.linux.namespaces = spec.linux.namespaces.filter(({ type }: { type: string }) => type !== 'network')
  writeFileSync(file, JSON.stringify(spec))
  return bundle
}

async function start(name: string, bundle: string, port: number) {
  containers.add(name)
  const child = spawn(...crunCommand(['run', '--bundle', bundle, name]), {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (said += chunk))
  const ended = once(child, 'exit')
  const ready = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    )
  await expect
    .poll(async () => child.exitCode ?? (await ready()), { timeout: 180_000, interval: 250 })
    .not.toBe(false)
    .catch((error) => {
      throw new Error(`the container is not ready:\n${said}`, { cause: error })
    })
  if (child.exitCode !== null) throw new Error(`the container ended with ${child.exitCode}:\n${said}`)
  return {
    exec: (...args: string[]) => crun('exec', '--user', '10001:10001', name, ...args),
    async stop(): Promise<number> {
      await crun('kill', name, 'TERM')
      const [code] = await ended
      return code as number
    },
  }
}

test(
  'the image runs as its user on a read-only root, is healthy, and keeps its data',
  async () => {
    await makeBase()
    await buildah(
      'bud',
      '--quiet',
      '--isolation',
      'chroot',
      '--format',
      'docker',
      '--network',
      'host',
      '--pull-never',
      '--build-arg',
      'NODE_IMAGE=localhost/node:base',
      '--tag',
      'localhost/svc:test',
      '.',
    )
    const inspected = JSON.parse(await buildah('inspect', '--type', 'image', 'localhost/svc:test'))
    const config: ImageConfig = inspected.Docker.config
    expect(config.User).toBe('10001:10001')
    const root = await buildah('mount', await buildah('from', '--pull-never', 'localhost/svc:test'))
    const data = join(scratch, 'data')
    mkdirSync(data)
    await run('chown', ['10001:10001', data])
    chmodSync(scratch, 0o755)

    const port = await freePort()
    const call = (path: string, body?: object) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    const account = { email: 'ada@example.org', password: 'correct horse battery' }
    const first = await start('svc-image-first', await makeBundle('first', root, config, port, data), port)
    expect((await call('/api/auth/register', account)).status).toBe(201)
    await first.exec(...config.Healthcheck.Test.slice(1))
    await first.exec('svc', 'doctor')
    const { pid } = JSON.parse((await crun('state', 'svc-image-first')).stdout) as { pid: number }
    expect(readFileSync(`/proc/${pid}/status`, 'utf8')).toMatch(/^Uid:\t10001\t10001/m)
    await expect(first.exec('touch', '/opt/svc/changed')).rejects.toThrow(/Read-only file system/)
    await first.stop()

    const second = await start('svc-image-second', await makeBundle('second', root, config, port, data), port)
    expect((await call('/api/auth/login', account)).status).toBe(200)
    await second.stop()
  },
  LONG,
)
