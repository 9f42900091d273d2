import { expect, test } from 'vitest'
import { openStage, startOf } from '../http/stage.ts'
import { PASSWORD, startTestApp } from '../kit/app.ts'

const PROXIED = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '192.0.2.1' }

test('behind a trusted proxy that ends TLS, the session cookie is Secure and __Host-, and works', async () => {
  const app = await startTestApp({ trustProxy: true })
  try {
    const body = { email: 'ada@example.org', password: PASSWORD }
    const registered = await app.call('POST', '/api/auth/register', { body, headers: PROXIED })
    const [cookie = ''] = registered.headers['set-cookie'] ?? []
    expect(cookie).toMatch(/^__Host-svc_session=[^;]+;.*; Secure/)
    const sent = { cookie: cookie.split(';', 1)[0] as string }
    expect((await app.call('GET', '/api/auth/me', { ...sent, headers: PROXIED })).status).toBe(200)
    // A page of this host without TLS could have been changed on its way.
    const origin = { ...PROXIED, origin: `http://${new URL(app.address).host}` }
    const out = await app.call('POST', '/api/auth/logout', { ...sent, headers: origin })
    expect([out.status, out.body.code]).toEqual([403, 'cross_site_request'])
    const secure = { ...PROXIED, origin: `https://${new URL(app.address).host}` }
    const left = await app.call('POST', '/api/auth/logout', { ...sent, headers: secure })
    expect(left.status).toBe(204)
    expect(left.headers['set-cookie']?.[0]).toMatch(/^__Host-svc_session=;.*; Secure/)
    // Without TLS, on this machine, browsers would refuse both.
    const plain = await app.call('POST', '/api/auth/login', { body })
    expect(plain.headers['set-cookie']?.[0]).toMatch(/^svc_session=(?!.*Secure)/)
  } finally {
    await app.stop()
  }
})

test('the header of a proxy that is not trusted changes neither cookie nor links', async () => {
  const stage = await openStage()
  try {
    const headers = { ...PROXIED, 'x-forwarded-host': 'evil.example' }
    const body = { email: stage.owner.email, password: PASSWORD }
    const signedIn = await stage.app.call('POST', '/api/auth/login', { body, headers })
    expect(signedIn.headers['set-cookie']?.[0]).toMatch(/^svc_session=(?!.*Secure)/)
  } finally {
    await stage.stop()
  }
})

test('X-Forwarded-Host makes links to allowed hosts only', async () => {
  const stage = await openStage({
    trustProxy: true,
    allowedHosts: ['localhost', '127.0.0.1', 'monitor.example.org'],
  })
  try {
    await stage.send(stage.batchOwner, [startOf({ id: 'linked' })])
    const { token } = stage.batchOwner
    const originOf = async (forwarded: string) => {
      const headers = { ...PROXIED, 'x-forwarded-host': forwarded }
      const made = await stage.app.call('POST', '/api/batches/linked/shares', { token, body: {}, headers })
      expect(made.status).toBe(201)
      return new URL(made.body.url).origin
    }
    const own = `https://${new URL(stage.app.address).host}`
    expect(await originOf('monitor.example.org')).toBe('https://monitor.example.org')
    for (const forged of [
      'evil.example',
      'monitor.example.org.evil.example',
      'monitor.example.org@evil.example',
    ])
      expect(await originOf(forged)).toBe(own)
    expect(await originOf('monitor.example.org, evil.example')).toBe(own)
  } finally {
    await stage.stop()
  }
})

test('where any host is allowed, a forwarded one is a name and a port, never more', async () => {
  const stage = await openStage({ trustProxy: true, allowedHosts: ['*'] })
  try {
    await stage.send(stage.batchOwner, [startOf({ id: 'any' })])
    const headers = { ...PROXIED, 'x-forwarded-host': 'a@evil.example/x' }
    const { token } = stage.batchOwner
    const made = await stage.app.call('POST', '/api/batches/any/shares', { token, body: {}, headers })
    expect(made.body.url).toMatch(new RegExp(`^https://${new URL(stage.app.address).host}/s/`))
  } finally {
    await stage.stop()
  }
})

test('probes are answered under any Host, all else only under an allowed one', async () => {
  const app = await startTestApp()
  try {
    const headers = { host: 'probe.internal:8080' }
    for (const path of ['/livez', '/readyz'])
      expect([path, (await app.call('GET', path, { headers })).status]).toEqual([path, 200])
    for (const path of ['/metrics', '/', '/api/auth/register', '/livez/x', '/docs/', '/graphql']) {
      const { status, body } = await app.call('GET', path, { headers })
      expect([path, status, body.code]).toEqual([path, 400, 'host_not_allowed'])
    }
  } finally {
    await app.stop()
  }
})

test('no answer may be stored, unless its route allows it', async () => {
  const stage = await openStage()
  try {
    const { app, owner } = stage
    await stage.send(stage.batchOwner, [startOf({ id: 'kept' })])
    for (const [path, token] of [
      ['/api/batches', owner.token],
      ['/api/batches/kept', owner.token],
      ['/api/batches/kept/export.csv', owner.token],
      ['/api/projects/vision', owner.token],
      ['/api/auth/sessions', owner.token],
      ['/api/admin/users', stage.admin.token],
      ['/api/batches/nope', owner.token],
      ['/api/batches/kept', undefined],
      ['/livez', undefined],
      ['/api/nope', undefined],
    ] as const) {
      const { headers } = await stage.get(path, token)
      expect([path, headers['cache-control']]).toEqual([path, 'no-store'])
    }
    const asked = await app.call('POST', '/graphql', { token: owner.token, body: { query: '{ me { id } }' } })
    expect(asked.headers['cache-control']).toBe('no-store')
    const stream = await stage.get('/api/sse?channels=dashboard', owner.token)
    expect(stream.headers['cache-control']).toBe('no-store, no-transform')
    expect((await stage.get('/api/mail.css')).headers['cache-control']).toBe('max-age=300')
  } finally {
    await stage.stop()
  }
})
