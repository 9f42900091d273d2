import { cookieOf, type TestApp } from '../kit/app.ts'
import type { Answer } from '../kit/http.ts'
import { walkThrough } from './provider.ts'

/** A sign-in up to the callback, which is not requested yet. */
export interface Underway {
  /** Where the service sent the browser. */
  authorize: URL
  /** What the browser holds for the service. */
  cookie: string
  /** Where the provider sends the browser back to. */
  back: URL
}

export interface Begin {
  idp?: string
  returnTo?: string
  cookie?: string
  /** Changes the address on the way to the provider. */
  tamper?: (url: URL) => void
}

/** Starts a sign-in and signs in at the provider. */
export async function goThere(app: TestApp, options: Begin = {}): Promise<Underway> {
  const { idp = 'keys', returnTo } = options
  const query = returnTo === undefined ? '' : `?${new URLSearchParams({ return_to: returnTo })}`
  const begun = await app.call('GET', `/api/oauth/${idp}/start${query}`, {
    ...(options.cookie === undefined ? {} : { cookie: options.cookie }),
  })
  if (begun.status !== 302) throw new Error(`start: ${begun.status} ${JSON.stringify(begun.body)}`)
  const authorize = new URL(begun.headers.location ?? '')
  options.tamper?.(authorize)
  const cookie = cookieOf(begun.headers['set-cookie'])
  return { authorize, cookie, back: await walkThrough(authorize.href) }
}

/** Takes the way back. */
export const comeBack = (
  app: TestApp,
  { back, cookie }: Pick<Underway, 'back' | 'cookie'>,
): Promise<Answer> => app.call('GET', `${back.pathname}${back.search}`, cookie === '' ? {} : { cookie })

/** A complete sign-in. `cookie` of the result is that of the session, if one was opened. */
export async function signInThrough(app: TestApp, options: Begin = {}) {
  const underway = await goThere(app, options)
  const answer = await comeBack(app, underway)
  const cookie = (answer.headers['set-cookie'] ?? [])
    .map((line) => line.split(';', 1)[0] ?? '')
    .find((one) => /^svc_session=./.test(one))
  return { ...underway, answer, location: answer.headers.location ?? '', session: cookie }
}

/** The reason in an address of the page. */
export const reasonOf = (location: string | undefined): string | null =>
  new URL(location ?? '', 'http://page').searchParams.get('error')

/** Who a cookie is. */
export const whoIs = async (app: TestApp, cookie: string | undefined) =>
  cookie === undefined ? undefined : (await app.call('GET', '/api/auth/me', { cookie })).body.user
