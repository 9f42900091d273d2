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
    means: 'Of a metric rule: key, op and value',
    public: 'hidden',
  },
  recipients: {
    type: nullable(texts),
    means: "Null: the project's",
    public: 'hidden',
  },
  unconfirmed: {
    type: texts,
    means: 'Recipients of the rule that get no mail until their owners confirm them',
    graphql: null,
    public: 'hidden',
  },
  channels: {
    type: jsonOf(z.array(channelShape)),
    means: 'Where its messages go; secrets are never shown',
    public: 'hidden',
  },
  enabled: { type: flag, column: 'enabled', public: 'hidden' },
  cooldown_s: {
    type: int,
    means: 'Seconds without a further mail after each mail',
    column: 'cooldown_s',
    public: 'hidden',
  },
  personal: {
    type: flag,
    means: 'A rule of the caller, which no one else sees; absent for rules of the project',
    optional: true,
    public: 'hidden',
  },
  own_runs: {
    type: flag,
    means: 'Of a personal rule: it fires for batches of its person alone',
    column: 'own_runs',
    optional: true,
    public: 'hidden',
  },
  quiet: {
    type: nullable(jsonOf(quietShape)),
    means: 'When it sends nothing: from, to and time_zone; absent without such hours',
    optional: true,
    public: 'hidden',
  },
  created_at: { type: instant, column: 'created_at', public: 'hidden' },
} as const satisfies Fields

/** A rule in the API. */
export type RuleView = ViewOf<typeof ruleFields>
/** A rule as stored; domain/addresses knows which of its recipients are confirmed. */
export type Rule = Required<Omit<RuleView, 'unconfirmed'>>
