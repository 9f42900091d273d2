import { type Fields, flag, instant, int, nullable, serial, text, uuid, type ViewOf, word } from '../field.ts'
import { CHANNEL_KINDS } from './channel-fields.ts'

/** The fields of a firing of a rule, and of its messages, for callers that may administer the project. */

export const firingFields = {
  id: { type: serial, column: 'id', public: 'hidden' },
  trigger: {
    type: nullable(text),
    means: 'The trigger at that time; null for a test',
    column: 'trigger',
    public: 'hidden',
  },
  batch_id: {
    type: nullable(text),
    means: 'Null for a test, and for a batch that was removed',
    public: 'hidden',
  },
  happened_at: { type: instant, means: 'Time of the event', column: 'happened_at', public: 'hidden' },
  fired_at: { type: instant, means: 'When the rule fired', column: 'fired_at', public: 'hidden' },
  outcome: {
    type: word(['mail', 'cooldown', 'muted']),
    means: 'mail: messages were written; cooldown, muted: none',
    column: 'outcome',
    public: 'hidden',
  },
} as const satisfies Fields

export type Firing = ViewOf<typeof firingFields>

const MESSAGE_STATES = [
  'waiting',
  'begun',
  'sent',
  'unknown',
  'refused',
  'failed',
  'cancelled',
  'logged',
] as const

export const ruleMessageFields = {
  id: { type: uuid, column: 'id', public: 'hidden' },
  kind: {
    type: word(CHANNEL_KINDS),
    means: 'The kind of the channel',
    column: 'kind',
    public: 'hidden',
  },
  channel_id: {
    type: nullable(uuid),
    means: 'Null for mail, and for a channel that was removed',
    column: 'channel_id',
    public: 'hidden',
  },
  target: {
    type: nullable(text),
    means: 'The address, or the part of the URL that may be shown',
    public: 'hidden',
  },
  subject: { type: nullable(text), means: 'The subject line', public: 'hidden' },
  batch_id: { type: nullable(text), means: 'The batch of the message; null for a test', public: 'hidden' },
  test: { type: flag, means: 'Whether it was a test message', public: 'hidden' },
  state: {
    type: word(MESSAGE_STATES),
    means: '`failed`: not accepted within 24 hours; `unknown`: transmitted, but the answer was lost',
    column: 'state',
    public: 'hidden',
  },
  attempts: { type: int, means: 'How often it was sent', column: 'attempts', public: 'hidden' },
  status: {
    type: nullable(int),
    means: 'HTTP status of the last answer',
    column: 'status',
    public: 'hidden',
  },
  body: { type: nullable(text), means: 'Beginning of the last answer', column: 'body', public: 'hidden' },
  error: { type: nullable(text), means: 'Why the last attempt failed', column: 'error', public: 'hidden' },
  created_at: { type: nullable(instant), means: 'When it was written', public: 'hidden' },
  last_attempt_at: { type: nullable(instant), means: 'When it was last sent', public: 'hidden' },
  next_attempt_at: {
    type: nullable(instant),
    means: 'When it is sent next; null if it does not wait',
    public: 'hidden',
  },
} as const satisfies Fields
