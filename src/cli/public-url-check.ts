import { connect as connectTls } from 'node:tls'
import type { Config } from '../config.ts'
import { codeOf, errorOf, fieldOf } from '../thrown.ts'
import { type Finding, failure, ok, warning } from './finding.ts'

const DAY_MS = 86_400_000
const REQUEST_MS = 10_000

/** Checks that the public URL uses TLS with a valid certificate, and leads to this service. */
export async function checkPublicUrl({ publicUrl, host }: Config): Promise<Finding[]> {
  if (publicUrl === undefined) {
    return /^(localhost|127\.|\[?::1)/.test(host)
      ? [
          ok(
            'public URL',
            'not set: links lead to this machine, which is right as long as it has no other users',
          ),
        ]
      : [
          warning(
            'public URL',
            `not set, and the service listens on ${host}`,
            'Set SVC_PUBLIC_URL to the address that people open, so that links and cookies are right.',
          ),
        ]
  }
  const found: Finding[] = []
  const url = new URL(publicUrl)
  if (url.protocol === 'https:') found.push(await checkCertificate(url))
  else if (!/^(localhost|127\.|\[::1\])/.test(url.hostname))
    found.push(
      warning(
        'TLS',
        `${publicUrl} is not encrypted: passwords and tokens can be read on their way`,
        'Put a proxy with TLS in front (docs/scaling.md) and set SVC_PUBLIC_URL to https://…',
      ),
    )
  found.push(await checkAnswer(publicUrl))
  return found
}

async function checkAnswer(publicUrl: string): Promise<Finding> {
  const ask = (path: string): Promise<Response> =>
    fetch(`${publicUrl}${path}`, { redirect: 'manual', signal: AbortSignal.timeout(REQUEST_MS) })
  try {
    const ready = await ask('/readyz')
    const text = await ready.text()
    if (ready.status === 400)
      return failure(
        'public URL',
        `${publicUrl} is refused: the service does not know the Host that the proxy passes on`,
        'Let the proxy pass on Host unchanged, or name it in SVC_ALLOWED_HOSTS.',
      )
    if (ready.status >= 300 && ready.status < 400)
      return warning(
        'public URL',
        `${publicUrl} redirects to ${ready.headers.get('location')}`,
        'Set SVC_PUBLIC_URL to where it leads: programs do not follow redirects of POST requests.',
      )
    if (ready.status !== 200 || !text.includes('"ready"'))
      return failure(
        'public URL',
        `${publicUrl}/readyz answers ${ready.status}`,
        'Is the service running, and does the proxy lead to it?',
      )
    const metrics = await ask('/metrics')
    await metrics.body?.cancel()
    if (metrics.status === 200)
      return warning(
        'public URL',
        `${publicUrl}/metrics is open to everybody who comes through the proxy`,
        'Let the proxy set X-Forwarded-For: without it everybody counts as this machine.',
      )
    return ok('public URL', `${publicUrl} leads to a service that is ready`)
  } catch (error) {
    return failure(
      'public URL',
      `${publicUrl} does not answer from here (${codeOf(fieldOf(error, 'cause')) ?? errorOf(error).name})`,
      'Start the service and its proxy. From behind some routers the public address cannot be reached: try another machine.',
    )
  }
}

/** There was no certificate. */
const UNREACHABLE = new Set([
  'ENOTFOUND',
  'EAI_AGAIN',
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
])

function checkCertificate({ hostname, port }: URL): Promise<Finding> {
  return new Promise((done) => {
    const servername = /^[\d.]+$|:/.test(hostname) ? {} : { servername: hostname }
    const socket = connectTls({
      host: hostname,
      port: Number(port) || 443,
      ...servername,
      timeout: REQUEST_MS,
    })
    const end = (finding: Finding): void => {
      socket.destroy()
      done(finding)
    }
    socket.on('timeout', () =>
      end(failure('TLS', `${hostname} does not answer`, 'See the proxy that holds the certificate.')),
    )
    socket.on('error', (error: NodeJS.ErrnoException) =>
      end(
        failure(
          'TLS',
          `${hostname}: ${error.message}`,
          UNREACHABLE.has(error.code ?? '')
            ? 'Check the name in SVC_PUBLIC_URL, its DNS entry, and that the proxy listens there.'
            : 'Renew the certificate, with its whole chain. For an authority of your own set NODE_EXTRA_CA_CERTS here.',
        ),
      ),
    )
    socket.on('secureConnect', () => {
      const until = new Date(socket.getPeerCertificate().valid_to)
      const days = Math.floor((until.getTime() - Date.now()) / DAY_MS)
      const text = `the certificate of ${hostname} is valid for ${days} more days`
      end(
        days < 14
          ? warning('TLS', text, 'Renew it, or see why it is not renewed by itself.')
          : ok('TLS', text),
      )
    })
  })
}
