/** Notification rules and their firings (contract §7). */
export { type Before, findCrossings, type SetValue } from './crossings.ts'
export { type DigestEntry, writeDigest } from './digest.ts'
export { type EmailMessage, headlineOf, line, renderEmail } from './email-template.ts'
export { type Facts, readFacts } from './facts.ts'
export { fireRules, type MailPayload } from './fire-rules.ts'
export { enabledRules, rulesOf } from './for-ingest.ts'
export {
  beginDigest,
  digestsDue,
  dropHeld,
  endDigest,
  type HeldMail,
  heldMails,
  holdMail,
} from './held.ts'
export { markEnded, markStarted, readMarks, unmark } from './marks.ts'
export { PREVIEW_DAYS, previewRule } from './preview.ts'
export { administeredProject, administeredRule, isMuted, listRules, mutedAmong } from './reads.ts'
export {
  findSubscription,
  type MailSubscription,
  type Recipient,
  recipientsOf,
  resubscribe,
  unsubscribe,
} from './recipients.ts'
export {
  type Detail,
  type EnabledRule,
  firingKey,
  type Happening,
  OPS,
  TRIGGERS,
  type Trigger,
} from './rule.ts'
export { type Rule, type RuleView, ruleFields } from './rule-fields.ts'
export { createRule, deleteRule, muteBatch, type RuleFields, testRule, updateRule } from './writes.ts'
