/**
 * Search parameters of the sign-in pages, and of the account page that links lead back to. Pages also parse with these
 * functions, because the router merges the result of `validateSearch` into the given parameters and removes none.
 */
export interface ReturnSearch {
  return_to?: string
}
/** The error code of a sign-in through a provider, and the provider. */
export interface OutcomeSearch {
  error?: string
  idp?: string
}

const word = (value: unknown): string | undefined =>
  typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : undefined

export function readReturn(given: Record<string, unknown>): ReturnSearch {
  const to = given.return_to
  // Only a path of this service: a link must not lead to another site.
  return typeof to === 'string' && /^\/(?![/\\])[^\\\p{Cc}]*$/u.test(to) ? { return_to: to } : {}
}

export function readSignInSearch(given: Record<string, unknown>): ReturnSearch & OutcomeSearch {
  return { ...readReturn(given), ...readOutcome(given) }
}

export function readAccountSearch(given: Record<string, unknown>): OutcomeSearch & { linked?: string } {
  const linked = word(given.linked)
  return { ...readOutcome(given), ...(linked && { linked }) }
}

function readOutcome(given: Record<string, unknown>): OutcomeSearch {
  const [error, idp] = [word(given.error), word(given.idp)]
  return { ...(error && { error }), ...(idp && { idp }) }
}
