import { queryOptions } from '@tanstack/react-query'
import { fetchFactors, fetchPasskeys } from './api/factors.ts'
import { fetchProviders, fetchRegistration, fetchSettings, fetchSignInMethods } from './api/identity.ts'
import { fetchVerification } from './api/invitations.ts'
import { fetchReporterWheel } from './install-command.ts'

/** Queries about the service and the user's account. */
export const registrationQuery = queryOptions({ queryKey: ['registration'], queryFn: fetchRegistration })
/** The URL of the reporter's wheel. */
export const reporterWheelQuery = queryOptions({
  queryKey: ['reporter-wheel'],
  queryFn: fetchReporterWheel,
  staleTime: Infinity,
})
export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: fetchSettings,
  staleTime: Infinity,
})
export const providersQuery = queryOptions({
  queryKey: ['providers'],
  queryFn: fetchProviders,
  staleTime: Infinity,
})
export const signInMethodsQuery = queryOptions({ queryKey: ['ways-in'], queryFn: fetchSignInMethods })
export const factorsQuery = queryOptions({ queryKey: ['factors'], queryFn: fetchFactors })
export const passkeysQuery = queryOptions({ queryKey: ['passkeys'], queryFn: fetchPasskeys })
export const verificationQuery = queryOptions({ queryKey: ['verification'], queryFn: fetchVerification })
