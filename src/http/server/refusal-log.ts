import { type AuditEntry, recordAudit } from '../../domain/audit.ts'
import type { Actor } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { createAttemptLimits } from '../request/attempts.ts'
import { networkOf } from './network-of.ts'

/** Entries of all refusals that one server process writes in an hour. */
const AN_HOUR = 300

export interface RefusalLog {
  /**
   * Records a refusal in the audit log, at most once a minute for the same action, subject and network, 20 an hour for
   * a network and 300 for all: an attacker must not fill the log. What was left out is counted, and the next entry says
   * how much.
   */
  note(actor: Actor, address: string, entry: AuditEntry): Promise<void>
  /** Refusals that were not recorded since the start. */
  readonly leftOut: number
}

export function createRefusalLog({ writer, now }: Pick<Services, 'writer' | 'now'>): RefusalLog {
  const alike = createAttemptLimits({ account: 1, address: 0 })
  const hourly = createAttemptLimits({ account: AN_HOUR, address: 20 }, { windowS: 3600 })
  let leftOut = 0
  let sinceLast = 0
  return {
    get leftOut() {
      return leftOut
    },
    async note(actor, address, { detail, ...entry }) {
      const at = now()
      try {
        alike.take({ account: `${entry.action} ${entry.subject} ${networkOf(address)}` }, at)
        hourly.take({ account: 'all', address }, at)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        leftOut++
        sinceLast++
        return
      }
      const notRecorded = sinceLast
      sinceLast = 0
      const more = notRecorded === 0 ? {} : { not_recorded: notRecorded }
      await write(writer, (tx) => recordAudit(tx, actor, { ...entry, detail: { ...detail, ...more } }, at))
    },
  }
}
