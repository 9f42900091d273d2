import { get, type Page, post, remove } from './request.ts'

/** A project that the user is invited to. */
export interface Invitation {
  id: string
  project: string
  project_name: string
  role: 'member' | 'viewer'
  invited_by: { id: string; name: string } | null
  created_at: string
}
/** An invited user who has not answered. */
export interface PendingInvitation {
  id: string
  user_id: string
  name: string
  email: string
  role: 'member' | 'viewer'
  created_at: string
}
/** An email address that rules of a project use. */
export interface MailAddress {
  email: string
  state: 'confirmed' | 'unconfirmed' | 'stopped'
  confirmation_requested_at: string | null
}
export interface Verification {
  email: string
  verified: boolean
  confirmation_requested_at: string | null
  /** Without a mail server, addresses cannot be verified by mail. */
  mail_configured: boolean
}

const at = (slug: string): string => `/api/projects/${encodeURIComponent(slug)}`

export const fetchInvitations = async (): Promise<Invitation[]> =>
  (await get<Page<Invitation>>('/api/invitations', { limit: 100 })).items
export const answerInvitation = (id: string, answer: 'accept' | 'decline'): Promise<Invitation> =>
  post(`/api/invitations/${encodeURIComponent(id)}/${answer}`)
export const fetchPending = async (slug: string): Promise<PendingInvitation[]> =>
  (await get<Page<PendingInvitation>>(`${at(slug)}/invitations`, { limit: 500 })).items
export const withdrawInvitation = (slug: string, id: string): Promise<void> =>
  remove(`${at(slug)}/invitations/${encodeURIComponent(id)}`)
export const fetchAddresses = (slug: string): Promise<{ items: MailAddress[]; mail_configured: boolean }> =>
  get(`${at(slug)}/confirmations`)
export const requestConfirmation = (slug: string, email: string): Promise<void> =>
  post(`${at(slug)}/confirmations`, { email })
export const fetchVerification = (): Promise<Verification> => get('/api/auth/verification')
export const sendVerification = (): Promise<void> => post('/api/auth/verification')
