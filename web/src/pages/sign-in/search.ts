/**
 * The parameters in the addresses of sign-in, and of the account page that links lead back to. Pages read it by these
 * functions as well: the router puts what `validateSearch` answers beside the former ones, and removes none.
 */
export interface ReturnSearch {
  return_to?: string
}
/** How a sign-in through a provider ended: the service's word for it, and which provider it was. */
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
