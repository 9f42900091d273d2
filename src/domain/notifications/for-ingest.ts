import type { Fragment, Tx } from '../../db/sql.ts'
import type { EnabledRule } from './rule.ts'

/**
 * SQL: the rules of a row `p` of projects as JSON; null if there are none. Read in every group's transaction, so that a
 * rule is valid on every server from the first event after it was changed.
 */
export const enabledRules = (tx: Tx): Fragment => tx`
  (select json_agg(json_build_object('id', r.id, 'trigger', r.trigger, 'condition', r.condition))
    from notification_rules r where r.project_key = p.key and r.enabled)`

export const rulesOf = (found: EnabledRule[] | null): readonly EnabledRule[] => found ?? NONE
const NONE: readonly EnabledRule[] = []
