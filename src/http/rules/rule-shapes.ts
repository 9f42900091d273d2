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

/** Rules as they are sent (contract §7), and requests in the form that the domain takes. */
export const trigger = z.enum(TRIGGERS)
export const condition = z.strictObject({
  key: z
    .string()
    .regex(/^\P{Cs}{1,128}$/u, 'must be 1 to 128 characters')
    .refine(isStorable, 'must not hold a NUL character')
    .describe('The series, such as `val_loss`'),
  op: z.enum(OPS),
  value: z.number().nullish().describe('What the series is compared with; `is_nan` has none'),
})
export const recipients = z.array(shapes.email).max(100)
export const cooldown = z
  .int()
  .min(0)
  .max(30 * 86_400)
/** What previews count by. */
export const counted = {
  trigger,
  condition: condition.nullish().describe('Of a `metric` rule, and of no other'),
  cooldown_s: cooldown.default(600).describe('After a mail, none for so many seconds'),
}

export const ruleShape = shapeOf(ruleFields)
export const mailShape = z.object({
  configured: z.boolean().describe('False: no mail server is set, so mail is only logged'),
})
export const previewShape = z.object({
  fired: z.int().describe('Mails that the rule would have sent'),
  since: shapes.instant,
  days: z.int(),
})

/** @param open addresses, in lower case, that may not be mailed yet */
export const show = (rule: Rule, open: ReadonlySet<string>): RuleView => ({
  ...rule,
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

/** No recipients of its own is what an empty list means, too. */
export const ownRecipients = (emails: string[] | null | undefined): string[] | null =>
  emails == null || emails.length === 0
    ? null
    : [...new Map(emails.map((email) => [email.toLowerCase(), email])).values()]

/** @throws Problem invalid_body when trigger and condition do not go together */
export function refuseMismatch({ trigger, condition }: Pick<RuleFields, 'trigger' | 'condition'>): void {
  const fault = (path: string, message: string) =>
    new Problem('invalid_body', { detail: `${path}: ${message}`, errors: [{ path, message }] })
  if (trigger !== 'metric') {
    if (condition !== null) throw fault('condition', 'belongs to the trigger metric alone')
    return
  }
  if (condition === null) throw fault('condition', 'is needed for the trigger metric')
  if (condition.op !== 'is_nan' && condition.value == null) {
    throw fault('condition.value', `is needed for the operator ${condition.op}`)
  }
}
