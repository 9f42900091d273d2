import { serviceAddress } from './served.ts'

/** The URL of the newest wheel of svc-reporter (PEP 691). */
export async function fetchReporterWheel(): Promise<string> {
  const index = new URL(`${serviceAddress()}/pip/simple/svc-reporter/`)
  const answer = await fetch(index, { headers: { accept: 'application/vnd.pypi.simple.v1+json' } })
  if (!answer.ok) throw new Error(`The package index answered ${answer.status}`)
  const { files } = (await answer.json()) as { files: { url: string }[] }
  return new URL(files.at(-1)?.url ?? '', index).href
}

/**
 * A command that sends a first run. It needs Python 3.10 and curl and installs nothing, because Python can run a wheel
 * directly.
 * @param wheel URL of the reporter's wheel
 */
export const firstRunCommand = (address: string, token: string, wheel: string): string =>
  `curl -fsSo svc_reporter.whl ${wheel} && SVC_URL=${address} SVC_TOKEN=${token} PYTHONPATH=svc_reporter.whl python3 -m svc_reporter demo`

/**
 * The command that installs a Python package from this service. `--index-url` makes pip use no other index; with
 * `--extra-index-url` it would prefer a higher version from any index.
 * @param address URL of the service, without a trailing slash
 */
export function installCommand(name: 'svc-reporter' | 'svc-agent', address: string): string {
  const { protocol, hostname, host } = new URL(address)
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  // pip refuses plain HTTP, except from localhost or trusted hosts.
  const trust = protocol === 'http:' && !isLocal ? ` --trusted-host ${host}` : ''
  return `pip install --index-url ${address}/pip/simple/${trust} ${name}`
}
