import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { OAUTH_KEYS } from '../../src/oauth-config.ts'

// SVC_OAUTH_<IDP>_* (contract §3): the providers they configure, and the values that stop the start.

const keycloak = {
  SVC_OAUTH_KEYCLOAK_ISSUER: 'https://keys.example/realms/lab',
  SVC_OAUTH_KEYCLOAK_CLIENT_ID: 'monitor',
  SVC_OAUTH_KEYCLOAK_CLIENT_SECRET: 'hidden-value',
}
const github = {
  SVC_OAUTH_GIT_HUB_AUTHORIZE_URL: 'https://github.example/authorize',
  SVC_OAUTH_GIT_HUB_TOKEN_URL: 'https://github.example/token',
  SVC_OAUTH_GIT_HUB_USERINFO_URL: 'https://api.github.example/user',
  SVC_OAUTH_GIT_HUB_CLIENT_ID: 'monitor',
}

test('providers are read from the environment, with defaults, in the order of their names', () => {
  const { config, warnings } = readConfig({ ...keycloak, ...github })
  expect(warnings).toEqual([])
  expect(config.identityProviders).toEqual([
    {
      id: 'git_hub',
      name: 'Git hub',
      clientId: 'monitor',
      clientSecret: undefined,
      clientAuth: undefined,
      scopes: '',
      allow: [],
      endpoints: {
        kind: 'given',
        authorizeUrl: 'https://github.example/authorize',
        tokenUrl: 'https://github.example/token',
        userinfoUrl: 'https://api.github.example/user',
        emailsUrl: undefined,
      },
    },
    {
      id: 'keycloak',
      name: 'Keycloak',
      clientId: 'monitor',
      clientSecret: 'hidden-value',
      clientAuth: undefined,
      scopes: 'openid email profile',
      allow: [],
      endpoints: { kind: 'discovered', issuer: 'https://keys.example/realms/lab' },
    },
  ])
  expect(readConfig({}).config.identityProviders).toEqual([])
})

test('domains are read ignoring case, spaces and a leading @', () => {
  const { config } = readConfig({ ...keycloak, SVC_OAUTH_KEYCLOAK_ALLOW: ' Lab.Example, @site.example,' })
  expect(config.identityProviders[0]?.allow).toEqual(['lab.example', 'site.example'])
})

test('the address of the discovery document can be given in place of the issuer', () => {
  const ISSUER = 'https://keys.example/realms/lab/.well-known/openid-configuration'
  const { config } = readConfig({ ...keycloak, SVC_OAUTH_KEYCLOAK_ISSUER: ISSUER })
  expect(config.identityProviders[0]?.endpoints).toMatchObject({ issuer: 'https://keys.example/realms/lab' })
})

test.each([
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_CLIENT_ID: '' }, 'SVC_OAUTH_KEYCLOAK_CLIENT_ID is missing'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_ISSUER: '' }, 'SVC_OAUTH_KEYCLOAK_ISSUER is missing'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_ISSUER: 'keys.example' }, 'SVC_OAUTH_KEYCLOAK_ISSUER is not valid'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_ISSUER: 'http://keys.example' }, 'must begin with https://'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_SCOPES: 'email' }, 'must hold openid'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_ALLOW: 'a b' }, 'must be domains'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_ALLOW: ',' }, 'SVC_OAUTH_KEYCLOAK_ALLOW is not valid'],
  [{ ...keycloak, SVC_OAUTH_KEYCLOAK_TOKEN_URL: 'https://keys.example/t' }, 'does not go with'],
  [{ ...github, SVC_OAUTH_GIT_HUB_TOKEN_URL: '' }, 'SVC_OAUTH_GIT_HUB_TOKEN_URL is missing'],
  [{ ...github, SVC_OAUTH_GIT_HUB_USERINFO_URL: '' }, 'SVC_OAUTH_GIT_HUB_USERINFO_URL is missing'],
])('an invalid setting stops the start with one line (%#)', (env, line) => {
  let said = ''
  try {
    readConfig(env)
  } catch (error) {
    said = (error as Error).message
  }
  expect(said).toContain(line)
  expect(said).not.toContain('\n')
  expect(said).not.toContain('hidden-value')
})

test('plain HTTP is accepted only for this machine, and an unknown setting causes a warning', () => {
  for (const host of ['localhost:9', '127.0.0.1:9', '[::1]:9']) {
    const { config } = readConfig({ ...keycloak, SVC_OAUTH_KEYCLOAK_ISSUER: `http://${host}/x` })
    expect(config.identityProviders).toHaveLength(1)
  }
  const { warnings } = readConfig({ ...keycloak, SVC_OAUTH_KEYCLOAK_SECRET: 'x' })
  expect(warnings).toEqual(['SVC_OAUTH_KEYCLOAK_SECRET is not a setting of this service and is ignored'])
})

test('docs/operations.md has every one of these settings', () => {
  const page = readFileSync(join(import.meta.dirname, '../../docs/operations.md'), 'utf8')
  expect(Object.keys(OAUTH_KEYS).filter((key) => !page.includes(`\`SVC_OAUTH_<IDP>_${key}\``))).toEqual([])
})
