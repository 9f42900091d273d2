/** Notification rules and their firings (contract §7). */

export {
  CHANNEL_KINDS,
  type ChannelKind,
  type ChannelWish,
  channelShape,
} from './channel-fields.ts'
export {
  type ChannelRequest,
  makeWebhookSecret,
  PICTURE_FILE,
  requestOf,
  takesPicture,
} from './channel-formats.ts'
export {
  type Channel,
  type ChannelSettings,
  MAX_CHANNELS,
  openEndpoint,
  readChannels,
} from './channels.ts'
export { type Before, findCrossings, type SetValue } from './crossings.ts'
export {
  type Attempt,
  channelOf,
  type DeliveryPosition,
  type DeliveryView,
  type Due,
  deliveriesOf,
  deliveryShape,
  destinationOf,
  dueDelivery,
  pauseAfter,
  recordAttempt,
  sendAgain,
  writeDelivery,
} from './deliveries.ts'
export { type DigestEntry, digestOf } from './digest.ts'
export { type EmailMessage, type FootLink, PICTURE_ID, type Picture, renderEmail } from './email-template.ts'
export { type Facts, readFacts } from './facts.ts'
export { fireRules } from './fire-rules.ts'
export { firingFields, ruleMessageFields } from './firing-fields.ts'
export { countFirings, type FiringWithMessages, firingsOfRules } from './firings.ts'
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
export { headlineOf, line, type Message, messageOf } from './message.ts'
export { type MessagePreview, previewMessage } from './message-preview.ts'
export { PREVIEW_DAYS, previewRule } from './preview.ts'
export { isQuiet, type Quiet, quietShape } from './quiet.ts'
export {
  administeredProject,
  administeredRule,
  isMuted,
  listRules,
  mutedAmong,
  rulesOfProjects,
} from './reads.ts'
export {
  findSubscription,
  type MailSubscription,
  type Recipient,
  recipientsOf,
  resubscribe,
  seesProjectSql,
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
