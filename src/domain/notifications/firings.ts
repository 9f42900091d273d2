import type { PrismaClient } from '../../db/prisma.ts'
import { recordRows } from '../record-rows.ts'
import type { DeliveryView } from './deliveries.ts'
import { type Firing, firingFields, ruleMessageFields } from './firing-fields.ts'

/** Firings of rules as GraphQL reads them, through Prisma, each with its messages. */

export interface FiringWithMessages extends Firing {
  messages: DeliveryView[]
}

const firing = recordRows<Firing>(firingFields, { batch_id: { from: 'batch.id' } })

const message = recordRows<DeliveryView>(ruleMessageFields, {
  target: {
    from: ['target', 'addressKey'],
    of: (target: string | null, address: string) => target ?? address,
  },
  subject: { from: 'message', of: (text: { subject?: string } | null) => text?.subject ?? null },
  created_at: { from: 'createdAt', instant: true },
  last_attempt_at: { from: 'at', instant: true },
  next_attempt_at: { from: 'nextAt', instant: true },
})

/** The newest firings of each of these rules before a firing, by rule: one statement for all of them. */
export async function firingsOfRules(
  prisma: PrismaClient,
  ruleIds: readonly string[],
  { limit, after }: { limit: number; after: number | undefined },
): Promise<Map<string, FiringWithMessages[]>> {
  const found = await prisma.notificationRule.findMany({
    where: { id: { in: [...ruleIds] } },
    relationLoadStrategy: 'join',
    select: {
      id: true,
      firings: {
        ...(after !== undefined && { where: { id: { lt: after } } }),
        orderBy: { id: 'desc' },
        take: limit,
        select: {
          ...firing.select,
          trigger: true,
          firedAt: true,
          mails: { select: { ...message.select, attempts: true, createdAt: true }, orderBy: { id: 'desc' } },
        },
      },
    },
  })
  return new Map(
    found.map(({ id, firings }) => [
      id,
      firings.map((one) => {
        const shown = firing.rowOf(one)
        const messages = one.mails.map((mail): DeliveryView => {
          const view = message.rowOf(mail)
          return {
            ...view,
            batch_id: shown.batch_id,
            test: one.trigger === null,
            created_at: view.created_at ?? shown.fired_at,
            last_attempt_at: mail.attempts > 0 ? view.last_attempt_at : null,
          }
        })
        return { ...shown, messages }
      }),
    ]),
  )
}

/** How many firings each of these rules has, by rule. */
export async function countFirings(
  prisma: PrismaClient,
  ruleIds: readonly string[],
): Promise<Map<string, number>> {
  const counts = await prisma.notificationFiring.groupBy({
    by: ['ruleId'],
    where: { ruleId: { in: [...ruleIds] } },
    _count: true,
  })
  return new Map(counts.map(({ ruleId, _count }) => [ruleId, _count]))
}
