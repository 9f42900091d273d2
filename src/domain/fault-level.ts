import { databaseFault } from '../db/sql.ts'
import type { Problem } from '../problem.ts'

/**
 * At which level a fault is logged: `error` means that a person must act. A read that took too long, an identity provider
 * that is away and a statement that lost a conflict pass by themselves. An unavailable database is logged once for all
 * (createLog in src/log.ts), which hears of it at `error`.
 */
export function levelOf({ code, cause }: Problem): 'error' | 'warn' {
  if (code === 'read_timeout' || code === 'provider_unavailable') return 'warn'
  return code === 'unavailable' && databaseFault(cause) !== 'unavailable' ? 'warn' : 'error'
}
