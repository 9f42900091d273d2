import { z } from 'zod'
import type { Db, Tx } from '../../db/sql.ts'

/** What a person wants to be told of. Everything, until they say otherwise. */
export const choiceShape = z.object({
  rules: z.boolean().describe('Whether the bell shows messages of rules for this person'),
  comments: z.boolean().describe('Whether the bell shows comments on their runs and reports'),
  mentions: z.boolean().describe('Whether the bell shows comments that mention them'),
  mention_mail: z.boolean().describe('Whether comments that mention them are also sent by mail'),
})
export type Choices = z.output<typeof choiceShape>

const ALL: Choices = { rules: true, comments: true, mentions: true, mention_mail: true }

export async function readChoices(db: Db, userId: string): Promise<Choices> {
  const [row] = await db<{ notice_choices: Partial<Choices> }[]>`/* notices.choices */
    select notice_choices from users where id = ${userId}`
  return { ...ALL, ...row?.notice_choices }
}

export async function writeChoices(
  tx: Tx,
  userId: string,
  change: { [Name in keyof Choices]?: boolean | undefined },
): Promise<Choices> {
  await tx`/* notices.choose */
    update users set notice_choices = notice_choices || ${JSON.stringify(change)}::text::jsonb where id = ${userId}`
  return readChoices(tx, userId)
}
