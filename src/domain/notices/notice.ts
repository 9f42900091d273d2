import { z } from 'zod'
import { TRIGGERS } from '../notifications/index.ts'

const instant = z.string().meta({ format: 'date-time' })

/** A notice in the API. */
export const noticeShape = z.object({
  id: z.int(),
  kind: z
    .enum(['mention', 'comment', 'rule'])
    .describe('A comment that mentions me, a comment on my batch or report, or a message of a rule'),
  created_at: instant,
  read: z.boolean(),
  project: z.string().describe('Slug'),
  batch: z.object({ id: z.string(), name: z.string().nullable() }).nullable(),
  report: z.object({ id: z.string(), title: z.string() }).nullable(),
  comment: z
    .object({ id: z.int(), author: z.string(), text: z.string().describe('Its first 200 characters') })
    .nullable(),
  rule: z
    .object({
      name: z.string().nullable(),
      trigger: z.enum(TRIGGERS),
      job_id: z.string().nullable(),
      reason: z.string().nullable(),
    })
    .nullable(),
})
export type Notice = z.output<typeof noticeShape>
