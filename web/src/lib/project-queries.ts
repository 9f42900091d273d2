import { queryOptions } from '@tanstack/react-query'
import { fetchAddresses, fetchPending } from './api/invitations.ts'
import { fetchMembers } from './api/members.ts'
import { fetchDeliveries, fetchMessages, fetchOwnRules, fetchRules } from './api/rules.ts'
import { fetchProjectLinks } from './api/shares.ts'

/** Queries about the people and rules of a project. */
export const membersQuery = (slug: string) =>
  queryOptions({ queryKey: ['members', slug], queryFn: () => fetchMembers(slug) })
/** Pending invitations to a project. */
export const pendingQuery = (slug: string) =>
  queryOptions({ queryKey: ['pending', slug], queryFn: () => fetchPending(slug) })
export const addressesQuery = (slug: string) =>
  queryOptions({ queryKey: ['addresses', slug], queryFn: () => fetchAddresses(slug) })
export const projectLinksQuery = (slug: string) =>
  queryOptions({ queryKey: ['links', slug], queryFn: () => fetchProjectLinks(slug) })
export const deliveriesQuery = (ruleId: string) =>
  queryOptions({ queryKey: ['deliveries', ruleId], queryFn: () => fetchDeliveries(ruleId) })
export const messagesQuery = (ruleId: string) =>
  queryOptions({ queryKey: ['messages', ruleId], queryFn: () => fetchMessages(ruleId) })
export const rulesQuery = (slug: string) =>
  queryOptions({ queryKey: ['rules', slug, 'project'], queryFn: () => fetchRules(slug) })
export const ownRulesQuery = (slug: string) =>
  queryOptions({ queryKey: ['rules', slug, 'own'], queryFn: () => fetchOwnRules(slug) })
