/** Rules that mail, and what they did (contract §7). */
export { type Before, findCrossings, type SetValue } from './crossings.ts'
export { type DigestEntry, writeDigest } from './digest.ts'
export { type EmailMessage, headlineOf, line, renderEmail } from './email-template.ts'
export { type Facts, readFacts } from './facts.ts'
export { enabledRules, rulesOf } from './for-ingest.ts'
export { happened, type MailPayload } from './happened.ts'
export {
  beginDigest,
  digestsDue,
  dropHeld,
  endDigest,
  type HeldMail,
  heldMails,
  holdMail,
} from './held.ts'
export { markBegun, markEnded, readMarks, unmark } from './marks.ts'
export { PREVIEW_DAYS, previewRule } from './preview.ts'
export { administeredProject, administeredRule, isMuted, listRules } from './reads.ts'
export {
  endMail,
  findChoice,
  type MailChoice,
  type Recipient,
  recipientsOf,
  resumeMail,
} from './recipients.ts'
export {
  type Detail,
  type EnabledRule,
  type Happening,
  OPS,
  TRIGGERS,
  type Trigger,
} from './rule.ts'
export { type Rule, type RuleView, ruleFields } from './rule-fields.ts'
export { createRule, deleteRule, muteBatch, type RuleFields, testRule, updateRule } from './writes.ts'
