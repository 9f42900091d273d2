/** Errors of a sign-in through a provider, by the service's code (docs/api.md), as sentences with the next step. */
const FAULTS: Record<string, (provider: string) => string> = {
  sign_in_cancelled: (provider) => `The sign-in was cancelled at ${provider}. You can try again.`,
  sign_in_expired: () =>
    'That sign-in took too long, was used already, or was started in another browser. Try again from here.',
  sign_in_unverified: (provider) =>
    `The answer of ${provider} could not be verified, so you are not signed in. Try again. If it happens again, ask your administrator.`,
  sign_in_not_allowed: (provider) =>
    `${provider} accepts only verified addresses of certain domains, and yours is not one of them. Ask your administrator.`,
  sign_in_not_linked: () => 'Nothing was linked: you are signed out now, or signed in to another account.',
  email_missing: (provider) =>
    `${provider} sent no e-mail address, and an account needs one. Allow ${provider} to share yours, then try again.`,
  email_taken: (provider) =>
    `An account with your address exists already. Sign in to it with its password, then link ${provider} on your account page.`,
  identity_taken: (provider) =>
    `That identity at ${provider} belongs to another account. Unlink it there first, or link another one.`,
  registration_closed: () => 'You have no account yet, and registration is closed. Ask your administrator.',
  account_disabled: () => 'Your account is disabled. Ask your administrator.',
  provider_unavailable: (provider) =>
    `${provider} cannot be reached. Sign in with your password, or try again in a moment.`,
  too_many_attempts: () => 'Too many sign-ins were started from your address. Wait a minute, then try again.',
  unavailable: () => 'The service cannot answer now. Try again in a moment.',
  overloaded: () => 'The service is busy. Try again in a moment.',
}

/** @returns one sentence; for an unknown code, that the sign-in failed */
export const faultText = (code: string, provider: string): string =>
  FAULTS[code]?.(provider) ?? `Signing in through ${provider} did not work. Nothing was changed; try again.`
