import { userInfo } from 'node:os'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { addressOf, completeAddress, placeOf } from '../../src/db/address.ts'
import { passwordIn } from '../../src/db/password.ts'
import { passwordsIn } from '../../src/secrets.ts'

const places = (url: string): string[] => addressOf(url).hosts.map(placeOf)

test.each([
  ['postgresql://db/svc', ['db:5432']],
  ['postgres://db:6432/svc', ['db:6432']],
  ['postgresql://db1,db2:5433/svc', ['db1:5432', 'db2:5433']],
  ['postgresql:///svc?host=db1,db2&port=1,2', ['db1:1', 'db2:2']],
  ['postgresql:///svc?host=db1,db2&port=6432', ['db1:6432', 'db2:6432']],
  ['postgresql://[::1]:5433/svc', ['[::1]:5433']],
  ['postgresql://[fe80::1],[::1]:1/svc', ['[fe80::1]:5432', '[::1]:1']],
  ['postgresql://%2Frun%2Fpg:5433/svc', ['/run/pg/.s.PGSQL.5433']],
  ['postgresql:///svc?host=/run/pg&port=5433', ['/run/pg/.s.PGSQL.5433']],
  ['postgresql:///svc?host=/run/pg,db&port=1,2', ['/run/pg/.s.PGSQL.1', 'db:2']],
  ['postgresql://:5433/svc', ['localhost:5433']],
  ['postgresql:///svc?hostaddr=10.0.0.1', ['10.0.0.1:5432']],
  ['postgresql://', ['localhost:5432']],
])('the hosts of %s', (url, wanted) => {
  expect(places(url)).toEqual(wanted)
})

test('user, password and database are percent-decoded, and default as in libpq', () => {
  expect(addressOf('postgresql://a%40lab:p%2Fw%3A%25@db/s%20v')).toMatchObject({
    user: 'a@lab',
    password: 'p/w:%',
    database: 's v',
  })
  const me = userInfo().username
  expect(addressOf('postgresql://db')).toMatchObject({ user: me, database: me, password: undefined })
  expect(addressOf('postgresql://db/?user=ada&dbname=svc&password=a%26b')).toMatchObject({
    user: 'ada',
    password: 'a&b',
    database: 'svc',
  })
})

test('TLS, time-outs, the session and the name', () => {
  expect(addressOf('postgresql://db/svc')).toMatchObject({
    tls: { mode: 'prefer', channelBinding: 'prefer', sni: true, direct: false },
    primary: false,
    name: 'svc',
    connectTimeoutMs: 10_000,
    keepAliveMs: 60_000,
  })
  const query =
    'sslmode=verify-ca&sslrootcert=/ca&sslcert=/c&sslkey=/k&channel_binding=require&connect_timeout=3&application_name=lab&target_session_attrs=read-write&keepalives=0'
  expect(addressOf(`postgresql://db/svc?${query}`)).toMatchObject({
    tls: { mode: 'verify-ca', rootCert: '/ca', cert: '/c', key: '/k', channelBinding: 'require' },
    primary: true,
    name: 'lab',
    connectTimeoutMs: 3_000,
    keepAliveMs: false,
  })
  expect(addressOf('postgresql://db/svc?ssl=true').tls.mode).toBe('require')
  expect(addressOf('postgresql://db/svc?sslrootcert=system').tls.mode).toBe('verify-full')
  expect(addressOf('postgresql://db1,db2/svc').primary).toBe(true)
})

test('settings in options are set after connecting; other options go to the server as they are', () => {
  const of = (options: string) => {
    const { settings, options: rest } = addressOf(
      `postgresql://db/svc?options=${encodeURIComponent(options)}`,
    )
    return { settings, options: rest }
  }
  expect(of('-c search_path=lab -cwork_mem=8MB --lock-timeout=5s')).toEqual({
    settings: { search_path: 'lab', work_mem: '8MB', lock_timeout: '5s' },
    options: undefined,
  })
  expect(of('-c search_path=lab\\ one,\\ public')).toEqual({
    settings: { search_path: 'lab one, public' },
    options: undefined,
  })
  expect(of('endpoint=ep-1')).toEqual({ settings: {}, options: 'endpoint=ep-1' })
})

const main = { variable: 'SVC_DATABASE_URL', primary: true }

test("libpq's variables complete the URL, which has the last word", () => {
  const env = {
    PGHOST: '/run/pg',
    PGPORT: '5433',
    PGUSER: 'ada',
    PGPASSWORD: 'p@ss word',
    PGDATABASE: 'lab',
    PGSSLMODE: 'require',
    PGPASSFILE: '/etc/pgpass',
    PGAPPNAME: 'lab',
    PGOPTIONS: '-c work_mem=8MB',
    PGCLIENTENCODING: 'latin1',
  }
  expect(addressOf(completeAddress('postgresql://', env, main).url)).toMatchObject({
    hosts: [{ name: '/run/pg', port: 5433 }],
    user: 'ada',
    password: 'p@ss word',
    database: 'lab',
    passfile: '/etc/pgpass',
    tls: { mode: 'require' },
    settings: { work_mem: '8MB' },
    name: 'lab',
  })
  const { url } = completeAddress('postgresql://eva:secret@db:1/svc?sslmode=disable', env, main)
  expect(addressOf(url)).toMatchObject({
    hosts: [{ name: 'db', port: 1 }],
    user: 'eva',
    password: 'secret',
    database: 'svc',
    tls: { mode: 'disable' },
  })
  // The server of a replica is never that of the variables.
  const replica = { variable: 'SVC_DATABASE_READ_URL', primary: false }
  const read = completeAddress('postgresql://standby/svc', env, replica).url
  expect(addressOf(read)).toMatchObject({ hosts: [{ name: 'standby', port: 5432 }], user: 'ada' })
})

test('a completed URL says the same, also with IPv6, several hosts and a password among the parameters', () => {
  const full =
    'postgresql://[::1]:1,db2:2/s%20v?user=a%40b&password=p%26%2F%3D&sslrootcert=%2Fca%20x&tcp_user_timeout=1'
  const { url, warnings } = completeAddress(full, {}, main)
  expect(warnings).toEqual(['SVC_DATABASE_URL: tcp_user_timeout is ignored, because Node.js cannot set it'])
  expect(addressOf(url)).toEqual(addressOf(full.replace('&tcp_user_timeout=1', '')))
  expect(passwordsIn(url)).toContain('p&/=')
  const sockets = completeAddress('postgresql:///svc?host=/run/pg,/tmp&port=5433', { PGUSER: 'ada' }, main)
  expect(places(sockets.url)).toEqual(['/run/pg/.s.PGSQL.5433', '/tmp/.s.PGSQL.5433'])
})

test.each([
  ['postgresql://db/svc?sslmode=allow', /^SVC_DATABASE_URL is not valid: sslmode: .*use prefer$/],
  ['postgresql://db/svc?sslmode=on', /sslmode: it must be disable, prefer, require, .* or verify-full$/],
  ['postgresql://db/svc?service=lab', /service: .*write the address into the URL$/],
  ['postgresql://db/svc?schema=lab', /schema is not a parameter of libpq: use options=-csearch_path%3DNAME$/],
  ['postgresql://db/svc?pool_size=5', /pool_size is not a parameter of libpq; remove it$/],
  ['postgresql://db/svc?constructor=5', /constructor is not a parameter of libpq; remove it$/],
  ['postgresql://db/svc?target_session_attrs=standby', /name a standby in SVC_DATABASE_READ_URL$/],
  ['postgresql://db/svc?load_balance_hosts=random', /load_balance_hosts: .*there is one primary$/],
  ['postgresql://db/svc?client_encoding=latin1', /client_encoding: the service sends UTF-8/],
  ['postgresql://db/svc?sslmode', /SVC_DATABASE_URL is not valid: it has a parameter without a value/],
  ['postgresql://db1,db2:1,db3/svc?port=1,2', /names 3 hosts and 2 ports/],
  ['postgresql://db:99999/svc', /names a port that is not between 1 and 65535/],
  ['postgresql://::1/svc', /write an IPv6 address in brackets/],
  ['mysql://db/svc', /must begin with postgresql/],
])('%s is refused in one line', (url, wanted) => {
  expect(() => readConfig({ SVC_DATABASE_URL: url })).toThrow(wanted)
})

test('a refused variable of the environment is the one that is named', () => {
  const refused = (env: Record<string, string>) => () =>
    readConfig({ DATABASE_URL: 'postgresql://db/svc', ...env })
  expect(refused({ PGSSLMODE: 'yes' })).toThrow(/^PGSSLMODE is not valid: sslmode: it must be/)
  expect(refused({ PGSERVICE: 'lab' })).toThrow(/^PGSERVICE is not valid/)
  expect(() => readConfig({ DATABASE_URL: 'postgresql://db/svc?a=b' })).toThrow(/^DATABASE_URL is not valid/)
  const both = { SVC_DATABASE_READ_URL: 'postgresql://db1,db2/svc' }
  expect(refused(both)).toThrow('SVC_DATABASE_READ_URL is not valid: must name one host')
  // Without a URL they are not about this service.
  expect(readConfig({ PGHOST: 'db', PGSSLMODE: 'yes' }).config.databaseUrl).toBeUndefined()
})

test('the password file: the first line that matches, with wildcards and escapes', () => {
  const file = [
    '# comment',
    'db:5432:svc:ada:first',
    'db:*:*:ada:second',
    '[::1]:1:a\\:b:eva:with\\:colon\\\\',
    'localhost:*:*:*:local',
    '*:*:*:*:any',
  ].join('\n')
  const of = (url: string): string | undefined => {
    const address = addressOf(url)
    return passwordIn(file, address, address.hosts[0] as never)
  }
  expect(of('postgresql://ada@db/svc')).toBe('first')
  expect(of('postgresql://ada@db:1/svc')).toBe('second')
  expect(of('postgresql://eva@db/svc')).toBe('any')
  expect(of('postgresql://ada@%2Frun%2Fpg/svc')).toBe('local')
})
