import { z } from 'zod'
import {
  type Fields,
  flag,
  instant,
  int,
  jsonOf,
  nullable,
  text,
  texts,
  uuid,
  type ViewOf,
  word,
} from '../field.ts'
import { channelShape } from './channel-fields.ts'
import { quietShape } from './quiet.ts'
import { OPS, TRIGGERS } from './rule.ts'

/** The fields of a rule, for callers that may administer its project (contract §7). */
export const ruleFields = {
  id: { type: uuid, column: 'id', public: 'hidden' },
  project: { type: text, graphql: null, public: 'hidden' },
  name: { type: text, column: 'name', public: 'hidden' },
  trigger: { type: word(TRIGGERS), column: 'trigger', public: 'hidden' },
  condition: {
    type: nullable(jsonOf(z.object({ key: z.string(), op: z.enum(OPS), value: z.number().nullable() }))),
    means: 'For a metric rule: key, op and value',
    public: 'hidden',
  },
  recipients: {
    type: nullable(texts),
    means: 'Null: the recipients of the project',
    public: 'hidden',
  },
  unconfirmed: {
    type: texts,
    means: 'Recipients that must confirm their address before they get mail',
    graphql: null,
    public: 'hidden',
  },
  channels: {
    type: jsonOf(z.array(channelShape)),
    means: 'Channels of the rule; secrets are never shown',
    public: 'hidden',
  },
  enabled: { type: flag, column: 'enabled', public: 'hidden' },
  cooldown_s: {
    type: int,
    means: 'Minimum seconds between two messages',
    column: 'cooldown_s',
    public: 'hidden',
  },
  personal: {
    type: flag,
    means: 'A private rule of the caller; absent for rules of the project',
    optional: true,
    public: 'hidden',
  },
  own_runs: {
    type: flag,
    means: 'For a personal rule: fires only for batches of its owner',
    column: 'own_runs',
    optional: true,
    public: 'hidden',
  },
  quiet: {
    type: nullable(jsonOf(quietShape)),
    means: 'Quiet hours: from, to and time_zone; absent if there are none',
    optional: true,
    public: 'hidden',
  },
  created_at: { type: instant, column: 'created_at', public: 'hidden' },
} as const satisfies Fields

/** A rule in the API. */
export type RuleView = ViewOf<typeof ruleFields>
/** A rule as stored; domain/addresses knows which of its recipients are confirmed. */
export type Rule = Required<Omit<RuleView, 'unconfirmed'>>
