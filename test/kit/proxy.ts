import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { debianPackage } from './debian.ts'

/** A reverse proxy of Debian, in the foreground, that was reached. */
export interface RunningProxy {
  address: string
  stop(): Promise<void>
}

/** @param servers what stands in its `http` block; it listens on `port` */
export async function runNginx(servers: string, port: number, folder: string): Promise<RunningProxy> {
  const temp = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off; pid ${folder}/nginx.pid; error_log stderr warn; worker_processes 1;
events { worker_connections 2048; }
http { access_log off; ${temp.join(' ')}
${servers}
}\n`,
  )
  const root = await debianPackage('nginx')
  const args = ['-c', file, '-p', folder, ...(process.getuid?.() === 0 ? ['-g', 'user root;'] : [])]
  return runProxy(join(root, 'usr/sbin/nginx'), args, port, folder)
}

/** @param sites what follows the global options of its Caddyfile; one listens on `port` */
export async function runCaddy(sites: string, port: number, folder: string): Promise<RunningProxy> {
  const file = join(folder, 'Caddyfile')
  writeFileSync(file, `{\n\tadmin off\n}\n${sites}\n`)
  const root = await debianPackage('caddy')
  const args = ['run', '--config', file, '--adapter', 'caddyfile']
  return runProxy(join(root, 'usr/bin/caddy'), args, port, folder)
}

/** The program of that name on this machine; undefined if it is not installed. */
export const installed = (name: string): string | undefined =>
  [...(process.env.PATH ?? '').split(':'), '/usr/sbin', '/usr/local/sbin']
    .map((folder) => join(folder, name))
    .find((file) => existsSync(file))

/** @param text its configuration; a frontend listens on `port` */
export function runHaproxy(
  program: string,
  text: string,
  port: number,
  folder: string,
): Promise<RunningProxy> {
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, `${text}\n`)
  return runProxy(program, ['-db', '-f', file], port, folder)
}

/** @param hosts the virtual hosts; one listens on `port`. It has the modules of Debian. */
export function runApache(
  program: string,
  hosts: string,
  port: number,
  folder: string,
): Promise<RunningProxy> {
  const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http', 'proxy_balancer', 'lbmethod_byrequests']
  const loaded = [...modules, 'slotmem_shm', 'headers'].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  const file = join(folder, 'apache.conf')
  const account = process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''
  writeFileSync(
    file,
    `${loaded.join('\n')}
ServerName 127.0.0.1
PidFile ${folder}/apache.pid
DefaultRuntimeDir ${folder}
ErrorLog ${folder}/error.log
Listen 127.0.0.1:${port}
${account}
${hosts}
`,
  )
  return runProxy(program, ['-D', 'FOREGROUND', '-f', file], port, folder)
}

async function runProxy(command: string, args: string[], port: number, cwd: string): Promise<RunningProxy> {
  const child: ChildProcess = spawn(command, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, HOME: cwd, XDG_DATA_HOME: cwd, XDG_CONFIG_HOME: cwd },
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (said += chunk))
  const ended = once(child, 'exit')
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await ended
  }
  const address = `http://127.0.0.1:${port}`
  for (let i = 0; i < 200; i++) {
    if (child.exitCode !== null) throw new Error(`${command} ended with ${child.exitCode}:\n${said}`)
    // Any answer will do: it may be the one of the proxy itself.
    const up = await fetch(address).then(
      () => true,
      () => false,
    )
    if (up) return { address, stop }
    await sleep(50)
  }
  await stop()
  throw new Error(`${command} does not answer:\n${said}`)
}
