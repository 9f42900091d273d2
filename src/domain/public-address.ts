import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/**
 * Which addresses messages may be sent to. Everything that is not a public unicast address is refused: loopback, private,
 * link-local (with the metadata services of clouds), unique local, multicast, reserved, and all forms of IPv6 that carry
 * an IPv4 address. This file does no I/O.
 */

/** Why a message may not go to this address of a host; undefined if it may. */
export function refusedAddress(address: string): string | undefined {
  if (isIP(address) === 0 || !ipaddr.isValid(address)) return 'is not an IP address'
  // A host service of Azure, in the middle of public addresses.
  if (address === '168.63.129.16') return 'is in a network that is not public (metadata)'
  const parsed = ipaddr.parse(address)
  const range = parsed.range()
  // All global addresses of IPv6 are in 2000::/3; among the rest are those that carry an address of IPv4.
  if (parsed.kind() === 'ipv6' && (Number(parsed.toByteArray()[0]) & 0xe0) !== 0x20)
    return `is in a network that is not public (${range})`
  return range === 'unicast' ? undefined : `is in a network that is not public (${range})`
}

const MAX_URL = 2_048
/** Names that resolve inside a machine or a private network. */
const PRIVATE_NAME = /(^|\.)(localhost|local|internal|intranet|lan|home|corp|localdomain|home\.arpa)$/
/** Below 1024 only these; services such as mail and SSH have the others. */
const PORTS = ['', '80', '443']

/**
 * Why a message may not go to this URL; undefined if it may, as far as the text says. The addresses that a name resolves
 * to are checked when the message is sent.
 * @param allowPrivate `SVC_WEBHOOK_PRIVATE`
 */
export function refusedUrl(text: string, allowPrivate: boolean): string | undefined {
  if (text.length > MAX_URL) return `must be at most ${MAX_URL} characters`
  // WHATWG normalizes hosts such as 2130706433, 0x7f.1 and 127.1, so that they are recognized as addresses.
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined) return 'must be a URL such as https://example.org/hook'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must begin with https:// or http://'
  if (url.username !== '' || url.password !== '') return 'must not contain a user name or password'
  if (allowPrivate) return undefined
  if (!PORTS.includes(url.port) && Number(url.port) < 1_024)
    return 'has a port below 1024 that is not 80 or 443'
  const host = hostOf(url)
  if (isIP(host) !== 0) {
    const why = refusedAddress(host)
    return why === undefined ? undefined : `${why}; an operator can allow that with SVC_WEBHOOK_PRIVATE=true`
  }
  return PRIVATE_NAME.test(host) || !host.includes('.')
    ? 'names a host of a private network; an operator can allow that with SVC_WEBHOOK_PRIVATE=true'
    : undefined
}

/** The host without the brackets of IPv6 and without a final dot. */
export const hostOf = (url: URL): string =>
  url.hostname
    .replace(/^\[|\]$/g, '')
    .replace(/\.$/, '')
    .toLowerCase()
