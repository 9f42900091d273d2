import { z } from 'zod'
import { shapeOf } from '../../domain/field.ts'
import {
  OPS,
  type Rule,
  type RuleFields,
  type RuleView,
  ruleFields,
  TRIGGERS,
} from '../../domain/notifications/index.ts'
import { isStorable } from '../../domain/storable-text.ts'
import { Problem } from '../../problem.ts'
import * as shapes from '../request/shapes.ts'

/** The shapes of rules (contract §7), and their conversion to the types of the domain. */
export const trigger = z.enum(TRIGGERS)
export const condition = z.strictObject({
  key: z
    .string()
    .regex(/^\P{Cs}{1,128}$/u, 'must be 1 to 128 characters')
    .refine(isStorable, 'must not hold a NUL character')
    .describe('The series, such as `val_loss`'),
  op: z.enum(OPS),
  value: z.number().nullish().describe('The value to compare with; absent for `is_nan`'),
})
export const recipients = z.array(shapes.email).max(100)
export const cooldown = z
  .int()
  .min(0)
  .max(30 * 86_400)
export const ownRuns = z.boolean().describe('For a personal rule only: fire only for batches of the caller')
/** The fields that a preview depends on. */
export const counted = {
  trigger,
  condition: condition.nullish().describe('Only for the trigger `metric`'),
  cooldown_s: cooldown.default(600).describe('Minimum seconds between two messages'),
  personal: z
    .boolean()
    .default(false)
    .describe('A private rule of the caller; anyone who can see the project may create one'),
  own_runs: ownRuns.default(false),
}

export const ruleShape = shapeOf(ruleFields)
export const mailShape = z.object({
  configured: z.boolean().describe('False: no mail server is configured, so mail is only logged'),
})
export const previewShape = z.object({
  fired: z.int().describe('Mails that the rule would have sent'),
  since: shapes.instant,
  days: z.int(),
})

/** @param open addresses that may not be mailed yet, in lower case */
export const show = ({ personal, own_runs, quiet, ...rule }: Rule, open: ReadonlySet<string>): RuleView => ({
  ...rule,
  ...(personal && { personal, own_runs }),
  ...(quiet !== null && { quiet }),
  unconfirmed: (rule.recipients ?? []).filter((email) => open.has(email.toLowerCase())),
})

export const conditionOf = (given: z.output<typeof condition> | null | undefined): RuleFields['condition'] =>
  given == null
    ? null
    : {
        key: given.key,
        op: given.op,
        ...(given.op === 'is_nan' || given.value == null ? {} : { value: given.value }),
      }

/** An empty list also means that the rule has no recipients of its own. */
export const ownRecipients = (emails: string[] | null | undefined): string[] | null =>
  emails == null || emails.length === 0
    ? null
    : [...new Map(emails.map((email) => [email.toLowerCase(), email])).values()]

/** @throws Problem invalid_body when trigger and condition, or the fields of a personal rule, do not go together */
export function refuseMismatch(
  rule: Pick<RuleFields, 'trigger' | 'condition' | 'own_runs'> &
    Partial<Pick<Rule, 'recipients' | 'personal'>>,
): void {
  const { trigger, condition } = rule
  const fault = (path: string, message: string) =>
    new Problem('invalid_body', { detail: `${path}: ${message}`, errors: [{ path, message }] })
  if (rule.own_runs === true && rule.personal !== true)
    throw fault('own_runs', 'belongs to personal rules alone')
  if (rule.personal === true && rule.recipients != null)
    throw fault('recipients', 'a personal rule mails its person alone')
  if (trigger !== 'metric') {
    if (condition !== null) throw fault('condition', 'belongs to the trigger metric alone')
    return
  }
  if (condition === null) throw fault('condition', 'is needed for the trigger metric')
  if (condition.op !== 'is_nan' && condition.value == null) {
    throw fault('condition.value', `is needed for the operator ${condition.op}`)
  }
}
