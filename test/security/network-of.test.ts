import { expect, test } from 'vitest'
import { networkOf } from '../../src/http/server/network-of.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2::3', '2001:db8:1:2'],
  ['2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:2'],
  ['2001:0DB8:0001:0002:0:0:0:9', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['::ffff:c000:207', '192.0.2.7'],
  ['64:ff9b::192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:192.0.2.7', '2001:db8:1:2'],
  ['unknown', 'unknown'],
])('the network of %s is %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})

test('clients of two IPv4 addresses are two networks in every notation', () => {
  for (const prefix of ['', '::ffff:', '64:ff9b::'])
    expect(networkOf(`${prefix}192.0.2.7`)).not.toBe(networkOf(`${prefix}192.0.2.8`))
})
