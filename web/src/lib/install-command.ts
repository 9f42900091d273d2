/**
 * One line that sends a first run: it needs Python 3.10 and curl, and installs nothing, because Python runs a wheel as it
 * is downloaded.
 * @param wheel address of the reporter's wheel
 */
export const firstRunCommand = (address: string, token: string, wheel: string): string =>
  `curl -fsSo svc_reporter.whl ${wheel} && SVC_URL=${address} SVC_TOKEN=${token} PYTHONPATH=svc_reporter.whl python3 -m svc_reporter demo`

/**
 * The command that installs a Python package of this service from this service. With `--index-url`, so that pip uses no
 * other index: with `--extra-index-url` it would take a package of that name with a higher version from any index.
 * @param address of the service, without a slash at its end
 */
export function installCommand(name: 'svc-reporter' | 'svc-agent', address: string): string {
  const { protocol, hostname, host } = new URL(address)
  const isLocal = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)
  // pip takes nothing from plain http, unless it is this machine or told to.
  const trust = protocol === 'http:' && !isLocal ? ` --trusted-host ${host}` : ''
  return `pip install --index-url ${address}/pip/simple/${trust} ${name}`
}
