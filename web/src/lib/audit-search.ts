/** The audit log's search parameters: the filter. */
export interface AuditSearch {
  subject?: string
  action?: string
  actor?: string
  address?: string
}

export const AUDIT_FILTERS = ['subject', 'action', 'actor', 'address'] as const

export function readAuditSearch(given: Record<string, unknown>): AuditSearch {
  const search: AuditSearch = {}
  for (const name of AUDIT_FILTERS) {
    const value = given[name]
    if (typeof value === 'string' && value.trim() !== '') search[name] = value.trim()
  }
  return search
}
