import { createHash } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../kit/app.ts'
import { createClock } from '../kit/clock.ts'

let app: TestApp
let owner: Awaited<ReturnType<TestApp['register']>>
const clock = createClock()
beforeAll(async () => {
  app = await startTestApp({ logLevel: 'debug' }, { now: clock.now })
  owner = await app.register()
})
afterAll(() => app?.stop())

const create = (body: unknown, token = owner.token) => app.call('POST', '/api/tokens', { token, body })
const list = (token = owner.token, query = '') => app.call('GET', `/api/tokens${query}`, { token })
const remove = (id: string, token = owner.token) => app.call('DELETE', `/api/tokens/${id}`, { token })
const me = (token: string) => app.call('GET', '/api/auth/me', { token })

/** The check characters as the contract has them: CRC32 in base62, six places. */
function checkOf(body: string): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let text = ''
  for (let rest = crc32(body), i = 0; i < 6; i++, rest = Math.floor(rest / 62))
    text = digits[rest % 62] + text
  return text
}

describe('a new token', () => {
  test.each([
    ['reporter', 'em_live_'],
    ['read', 'em_read_'],
  ])('of scope %s begins with %s and ends with its checksum', async (scope, prefix) => {
    const { status, body, headers } = await create({ name: 'laptop', scope })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.any(String),
      name: 'laptop',
      scope,
      last4: body.token.slice(-4),
      created_at: expect.stringMatching(/Z$/),
      last_used_at: null,
      token: expect.stringMatching(new RegExp(`^${prefix}[0-9A-Za-z]{38}$`)),
    })
    expect(body.token.slice(-6)).toBe(checkOf(body.token.slice(0, -6)))
    expect(headers['cache-control']).toBe('no-store')
  })

  test('is stored as its SHA-256 only, and neither listed nor logged', async () => {
    const { body } = await create({ name: 'secret', scope: 'reporter' })
    const [row] = await app.sql`select hash, t::text as text from tokens t where id = ${body.id}`
    expect(row?.hash).toEqual(createHash('sha256').update(body.token).digest())
    const [audit] = await app.sql`select jsonb_agg(a)::text as text from audit_log a`
    for (const text of [row?.text, audit?.text, JSON.stringify((await list()).body), app.logged()]) {
      expect(text).not.toContain(body.token.slice(8, 40))
    }
  })

  test('is in the audit log with its creator, and so is its revocation', async () => {
    const { body } = await create({ name: 'audited', scope: 'read' })
    await remove(body.id)
    const entries = await app.sql`
      select action, actor_id, via, detail from audit_log where subject = ${`token:${body.id}`} order by id`
    const by = { actor_id: owner.user.id, via: 'session' }
    expect(entries).toEqual([
      { action: 'token.created', ...by, detail: { name: 'audited', scope: 'read', last4: body.last4 } },
      { action: 'token.revoked', ...by, detail: { name: 'audited', last4: body.last4 } },
    ])
  })

  test.each([
    [{ name: 'x' }, 'scope'],
    [{ scope: 'reporter' }, 'name'],
    [{ name: '', scope: 'reporter' }, 'name'],
    [{ name: 'x\0', scope: 'reporter' }, 'name'],
    [{ name: 'x'.repeat(129), scope: 'reporter' }, 'name'],
    [{ name: 'x', scope: 'admin' }, 'scope'],
    [{ name: 'x', scope: ['reporter'] }, 'scope'],
    [{ name: 'x', scope: 'reporter', user_id: 'someone' }, 'user_id'],
  ])('is refused for the body %j', async (body, field) => {
    expect(await create(body)).toMatchObject({
      status: 422,
      body: { code: 'invalid_body', errors: [{ path: field }] },
    })
  })
})

describe('using a token', () => {
  test('of scope read shows the user; of scope reporter it is refused for that', async () => {
    const read = (await create({ name: 'notebook', scope: 'read' })).body.token
    expect(await me(read)).toMatchObject({ status: 200, body: { user: owner.user } })
    const reporter = await app.reporterToken(owner.token)
    expect(await me(reporter)).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test('is refused for actions that need a session', async () => {
    for (const scope of ['reporter', 'read']) {
      const { token } = (await create({ name: 'program', scope })).body
      const answers = [
        await list(token),
        await create({ name: 'more', scope }, token),
        await remove('anything', token),
        await app.call('PATCH', '/api/auth/me', { token, body: { name: 'x' } }),
        await app.call('POST', '/api/auth/logout', { token }),
        await app.call('POST', '/api/admin/jwt/rotate', { token }),
        await app.call('GET', '/api/admin/users', { token }),
        await app.call('PATCH', `/api/admin/users/${owner.user.id}`, { token, body: { role: 'user' } }),
      ]
      expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(403))
    }
  })

  test('sets the last-used time, at most once a minute', async () => {
    const { id, token } = (await create({ name: 'used', scope: 'read' })).body
    const lastUsed = async () =>
      (await list()).body.items.find((item: { id: string }) => item.id === id).last_used_at
    await me(token)
    const first = await lastUsed()
    expect(Date.parse(first)).toBe(clock.now().getTime())
    clock.forward({ seconds: 50 })
    await me(token)
    expect(await lastUsed()).toBe(first)
    clock.forward({ seconds: 11 })
    await me(token)
    expect(Date.parse(await lastUsed())).toBe(clock.now().getTime())
  })

  test('whose checksum is wrong is refused without a database query', async () => {
    const { token } = (await create({ name: 'whole', scope: 'read' })).body
    const bad = token.slice(0, -1) + (token.endsWith('0') ? '1' : '0')
    const swapped = token.replace('em_read_', 'em_live_')
    const other = `em_read_${'a'.repeat(32)}${checkOf(`em_read_${'a'.repeat(32)}`)}`
    const cut = token.slice(0, -1)
    const sign = `em_read_${'-'.repeat(32)}${checkOf(`em_read_${'-'.repeat(32)}`)}`
    // Another request for the table now waits for it.
    const release = await lockTokens()
    for (const text of [bad, swapped, cut, sign, 'em_live_', `${token}0`])
      expect((await me(text)).status).toBe(401)
    const asks = me(other)
    const first = await Promise.race([
      asks.then(() => 'answered'),
      new Promise((resolve) => setTimeout(resolve, 300, 'waits')),
    ])
    await release()
    expect(first).toBe('waits')
    expect((await asks).status).toBe(401)
  })

  async function lockTokens(): Promise<() => Promise<void>> {
    const connection = await app.sql.reserve()
    await connection`begin`
    await connection`lock table tokens in access exclusive mode`
    return async () => {
      await connection`rollback`
      connection.release()
    }
  }
})

describe('revoking', () => {
  test('stops the token at once and removes it from the list', async () => {
    const { id, token } = (await create({ name: 'gone', scope: 'read' })).body
    expect((await me(token)).status).toBe(200)
    const answer = await remove(id)
    expect([answer.status, answer.body]).toEqual([204, ''])
    expect((await me(token)).status).toBe(401)
    expect((await list()).body.items.map((item: { id: string }) => item.id)).not.toContain(id)
    expect(await remove(id)).toMatchObject({ status: 404, body: { code: 'token_not_found' } })
  })

  test('is 404 for a token of another user and for an unknown id', async () => {
    const stranger = await app.register()
    const { id, token } = (await create({ name: 'mine', scope: 'read' })).body
    for (const target of [id, crypto.randomUUID(), 'x', '%00', "'--", 'a'.repeat(300)]) {
      expect(await remove(target, stranger.token)).toMatchObject({
        status: 404,
        body: { code: 'token_not_found' },
      })
    }
    expect((await me(token)).status).toBe(200)
  })
})

describe('the list', () => {
  test('contains only the tokens of the caller, newest first, page by page', async () => {
    const person = await app.register()
    for (let i = 0; i < 7; i++) await create({ name: `token ${i}`, scope: 'reporter' }, person.token)
    const names: string[] = []
    let cursor = ''
    let pages = 0
    do {
      const { status, body } = await list(person.token, `?limit=3${cursor}`)
      expect(status).toBe(200)
      names.push(...body.items.map((item: { name: string }) => item.name))
      cursor = body.next_cursor && `&cursor=${body.next_cursor}`
      pages++
    } while (cursor)
    expect(names.toSorted().reverse()).toEqual([6, 5, 4, 3, 2, 1, 0].map((i) => `token ${i}`))
    expect(pages).toBe(3)
    expect(new Set(names).size).toBe(7)
  })

  test('has an empty page', async () => {
    const { token } = await app.register()
    expect((await list(token)).body).toEqual({ items: [], next_cursor: null })
  })

  test.each([
    'limit=0',
    'limit=501',
    'limit=x',
    'limit=1.5',
    'limit=',
    'limit=1&limit=2',
    'scope=read',
    'offset=1',
  ])('refuses ?%s', async (query) => {
    expect(await list(owner.token, `?${query}`)).toMatchObject({
      status: 422,
      body: { code: 'invalid_query' },
    })
  })

  test('refuses unknown cursors', async () => {
    const users = await app.call('GET', '/api/admin/users?limit=1', { token: owner.token })
    expect(users.body.next_cursor).toEqual(expect.any(String))
    const forged = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const cursors = [
      users.body.next_cursor,
      'x',
      '',
      forged(['tokens', { createdAt: '2026-13-01T00:00:00Z', id: crypto.randomUUID() }]),
      forged(['tokens', { createdAt: '2026-01-01T00:00:00Z', id: 'x' }]),
      forged(['tokens', { createdAt: "2026-01-01T00:00:00Z' or true --", id: crypto.randomUUID() }]),
    ]
    for (const cursor of cursors) {
      expect(await list(owner.token, `?cursor=${cursor}`)).toMatchObject({
        status: 422,
        body: { code: 'invalid_cursor', errors: [{ path: 'cursor' }] },
      })
    }
  })

  test('needs a signed-in user, which is checked first', async () => {
    expect((await app.call('GET', '/api/tokens?nonsense=1')).status).toBe(401)
    expect((await app.call('POST', '/api/tokens', { body: 'not json' })).status).toBe(401)
    expect((await app.call('DELETE', '/api/tokens/x')).status).toBe(401)
  })
})
