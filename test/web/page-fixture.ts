import type { Browser } from '@playwright/test'
import { afterAll, beforeAll } from 'vitest'
import type { Config } from '../../src/config.ts'
import { startTestApp, type TestApp, type TestUser } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { buildPage } from './built-page.ts'
import { type Visit, visit } from './visit.ts'

export interface Account {
  user: TestUser
  email: string
  token: string
  cookie: string
}
export interface Look {
  theme?: 'light' | 'dark'
  width?: number
}

/** What the page tests of a file share. Its functions can be taken out at once; the other fields are set in `beforeAll`. */
export interface PageFixture {
  app: TestApp
  browser: Browser
  /** The first account of the service: Ada, unless another was registered before her. */
  admin: Account
  ada: Account
  /** A reporter token of Ada. */
  reporter: string
  /** A new visit of the page (see `visit`) by Ada, by another account, or without a sign-in. */
  asAda: (look?: Look) => Promise<Visit>
  as: (account: { cookie: string }, look?: Look) => Promise<Visit>
  signedOut: (look?: Look) => Promise<Visit>
}

/**
 * For all tests of a file, or of the `describe` that calls it: the built page, a service on a database of its own with the
 * account Ada, and a browser.
 * @param prepare sends what the tests look at
 * @param config of the service; a function, if it must be made when the tests begin
 * @param accounts in the order in which they register: Ada alone, an administrator before her, or none
 */
export function pageFixture(
  prepare?: (fixture: PageFixture) => Promise<void>,
  {
    config,
    accounts = ['ada'],
  }: {
    config?: Partial<Config> | (() => Promise<Partial<Config>>)
    accounts?: readonly ['ada'] | readonly [admin: string, ada: 'ada'] | readonly []
  } = {},
): PageFixture {
  const as: PageFixture['as'] = ({ cookie }, look) =>
    visit(fixture.browser, { ...look, address: fixture.app.address, cookie })
  const fixture = {
    as,
    asAda: (look) => as(fixture.ada, look),
    signedOut: (look) => visit(fixture.browser, { ...look, address: fixture.app.address }),
  } as PageFixture
  beforeAll(async () => {
    await buildPage()
    const app = await startTestApp(typeof config === 'function' ? await config() : config)
    Object.assign(fixture, { app, browser: await openBrowser() })
    const registered: Account[] = []
    for (const name of accounts) registered.push(await app.register(`${name}@example.org`))
    const [admin, ada] = [registered[0], registered.at(-1)]
    if (ada !== undefined)
      Object.assign(fixture, { admin, ada, reporter: await app.reporterToken(ada.token) })
    await prepare?.(fixture)
  })
  afterAll(async () => {
    await fixture.browser?.close()
    await fixture.app?.stop()
  })
  return fixture
}
