import { isIPv6 } from 'node:net'

/**
 * The network that limits count as one client: an IPv4 address, or the 64-bit network of an IPv6 address, which one
 * household or server has to itself. Every limit by client address counts networks. The same address in another
 * notation is the same network, and an IPv4 address that is written as IPv6 is that IPv4 address.
 */
export function networkOf(address: string): string {
  const [plain = ''] = address.split('%', 1)
  if (!isIPv6(plain)) return plain
  const groups = groupsOf(plain)
  const prefix = groups.slice(0, 6).join(':')
  if (prefix === MAPPED || prefix === TRANSLATED) {
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 0xff])
      .join('.')
  }
  return groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')
}

/** The first six groups of ::ffff:a.b.c.d, as sockets write IPv4 clients, and of 64:ff9b::a.b.c.d, as translators do. */
const MAPPED = [0, 0, 0, 0, 0, 0xffff].join(':')
const TRANSLATED = [0x64, 0xff9b, 0, 0, 0, 0].join(':')

/** The eight groups of 16 bits. A URL has one notation for each address. */
function groupsOf(address: string): number[] {
  const text = new URL(`http://[${address}]`).hostname.slice(1, -1)
  const [left = [], right = []] = text
    .split('::')
    .map((half) => half.split(':').flatMap((group) => (group === '' ? [] : Number.parseInt(group, 16))))
  return [...left, ...Array<number>(8 - left.length - right.length).fill(0), ...right]
}
