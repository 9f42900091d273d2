import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'

describe('a request without a route', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp()
  })
  afterAll(() => app?.stop())

  test.each([
    ['/api/batches/%', 400, 'bad_request'],
    ['/api/batches/%zz', 400, 'bad_request'],
    ['/api/batches/%ff/jobs', 400, 'bad_request'],
    [`/api/batches/${'x'.repeat(3000)}`, 404, 'not_found'],
  ])('with a path such as %s is refused with problem+json', async (path, status, code) => {
    const { headers, ...answer } = await app.call('GET', path)
    expect(answer).toMatchObject({ status, body: { status, code, request_id: headers['x-request-id'] } })
    expect(headers['content-type']).toMatch(/^application\/problem\+json/)
    expect(headers['x-request-id']).toBeTruthy()
  })

  test.each([
    ['that are no HTTP', 'HELLO\r\n\r\n'],
    [
      'with a header too long to read',
      `GET / HTTP/1.1\r\nhost: localhost\r\nx: ${'x'.repeat(100_000)}\r\n\r\n`,
    ],
  ])('of the bytes %s is answered with problem+json too', async (_, bytes) => {
    const answer = await exchange(bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/\r\ncontent-type: application\/problem\+json/)
    const [head = '', body = ''] = answer.split('\r\n\r\n')
    const id = /x-request-id: (\S+)/.exec(head)?.[1]
    expect(JSON.parse(body)).toMatchObject({ status: 400, code: 'bad_request', request_id: id })
  })

  const exchange = (bytes: string): Promise<string> =>
    new Promise((resolve, reject) => {
      let heard = ''
      const { hostname, port } = new URL(app.address)
      const socket = connect(Number(port), hostname, () => socket.write(bytes))
      socket.on('data', (chunk) => {
        heard += chunk
      })
      socket.on('close', () => resolve(heard))
      socket.on('error', (error) => (heard === '' ? reject(error) : resolve(heard)))
    })
})
