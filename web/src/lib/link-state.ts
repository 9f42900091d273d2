import type { Share } from './api/shares.ts'
import { exact } from './words.ts'

/** Until when a public link works, or why it does not. */
export function stateOf(link: Pick<Share, 'opens' | 'creator_disabled' | 'expires_at'>): string {
  const { opens, creator_disabled: disabled, expires_at: end } = link
  if (end !== null && Date.parse(end) < Date.now()) return `ended ${exact(end)}`
  if (disabled) return 'closed: this account is disabled'
  if (!opens) return 'closed: its maker may no longer share this'
  return end === null ? 'until it is revoked' : `ends ${exact(end)}`
}
