import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { refusedAddress, refusedUrl } from '../../src/domain/public-address.ts'
import { AddressRefused, post } from '../../src/workers/post.ts'

// Messages never go into private networks (contract §11 "Channels").

test.each([
  'https://127.0.0.1/',
  'http://127.1/',
  'http://2130706433/',
  'http://0x7f000001/',
  'http://0177.0.0.1/',
  'http://①②⑦.⓪.⓪.①/',
  'http://0.0.0.0/',
  'http://0/',
  'http://10.1.2.3/',
  'http://172.16.0.1/',
  'http://192.168.1.1/',
  'http://100.64.0.1/',
  'http://100.100.100.200/',
  'http://169.254.169.254/latest/meta-data/',
  'http://168.63.129.16/',
  'http://192.0.0.192/',
  'http://198.18.0.1/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://[::]/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:8.8.8.8]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[2001:0:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/',
  'http://[fc00::1]/',
  'http://[fec0::1]/',
  'http://[ff02::1]/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://a.localhost/',
  'http://printer.local/',
  'http://metadata.google.internal/',
  'http://database/',
  'https://user@example.org/',
  'https://:secret@example.org/',
  'https://example.org:25/',
  'https://example.org:22/',
  'ftp://example.org/',
  'file:///etc/passwd',
  'gopher://example.org/',
  'javascript:alert(1)',
  '/relative',
  'not a url',
  '',
  `https://example.org/${'x'.repeat(2_048)}`,
])('%s is refused', (url) => {
  expect(refusedUrl(url, false)).toEqual(expect.any(String))
})

test.each([
  'https://example.org/hook?a=b',
  'http://8.8.8.8/',
  'https://[2606:4700::1111]:8443/x',
])('%s is allowed', (url) => {
  expect(refusedUrl(url, false)).toBeUndefined()
})

test('with the setting private networks are allowed, other schemes and passwords are not', () => {
  expect(refusedUrl('http://127.0.0.1:25/', true)).toBeUndefined()
  expect(refusedUrl('http://box7/', true)).toBeUndefined()
  expect(refusedUrl('file:///etc/passwd', true)).toEqual(expect.any(String))
  expect(refusedUrl('http://a:b@box7/', true)).toEqual(expect.any(String))
  expect(refusedAddress('fe80::1%eth0')).toEqual(expect.any(String))
  expect(refusedAddress('example.org')).toEqual(expect.any(String))
})

const request = (url: string) => ({ url, headers: {}, body: '{}' })

test('a public name that resolves to a private address, even beside a public one, is refused', async () => {
  for (const addresses of [['127.0.0.1'], ['93.184.216.34', '10.0.0.1'], ['::ffff:169.254.169.254']]) {
    const resolve = async () =>
      addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
    await expect(post(request('https://example.org/'), { allowPrivate: false, resolve })).rejects.toThrow(
      AddressRefused,
    )
  }
})

test('the name is resolved once, and the connection goes to that address', async () => {
  const hosts: (string | undefined)[] = []
  const server = createServer((got, answer) => {
    hosts.push(got.headers.host)
    answer.end('x'.repeat(1_000_000))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  let lookups = 0
  // A name that would lead elsewhere the second time.
  const resolve = async () => [{ address: lookups++ === 0 ? '127.0.0.1' : '127.0.0.2', family: 4 }]
  const answer = await post(request(`http://rebind.example.org:${port}/`), { allowPrivate: true, resolve })
  expect(answer).toMatchObject({ status: 200, body: 'x'.repeat(4_096) })
  expect(lookups).toBe(1)
  expect(hosts).toEqual([`rebind.example.org:${port}`])
  server.close()
})

test('a receiver that does not answer, or a lookup that hangs, ends in time', async () => {
  const server = createServer(() => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const options = { allowPrivate: true, timeoutMs: 100 }
  await expect(post(request(`http://127.0.0.1:${port}/`), options)).rejects.toThrow('no answer in time')
  const resolve = () => new Promise<never>(() => {})
  await expect(post(request('http://slow.example.org/'), { ...options, resolve })).rejects.toThrow(
    'no answer in time',
  )
  server.closeAllConnections()
  server.close()
})
