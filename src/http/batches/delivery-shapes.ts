import { z } from 'zod'

const counts = z.object({
  produced: z.int(),
  accepted: z.int(),
  duplicate: z.int(),
  spilled: z.int(),
  dropped: z.int(),
  rejected: z.int(),
})

/** The shapes of the receipts of a batch and of its jobs (contract §10 "Receipt"). */
export const delivery = z.object({
  batch_id: z.string(),
  state: z
    .enum(['open', 'complete', 'incomplete', 'unknown'])
    .describe(
      '`open` while it runs; `unknown` when it ended and a process that reported it did not count at its end',
    ),
  stored: z.int().describe('Events of the batch that are stored, each counted once'),
  reported: counts
    .nullable()
    .describe('What the processes that reported it counted, in all; null until each has sent its counts'),
  missing: z
    .int()
    .nullable()
    .describe('Still to come: produced, neither dropped nor rejected, and not stored'),
  missing_epochs: z
    .number()
    .describe('Epochs that the steady pace of their jobs leads to expect and that are not stored'),
  gaps: z
    .array(z.object({ job_id: z.string(), ranges: z.array(z.tuple([z.number(), z.number()])) }))
    .describe('Where epochs are missing: first and last of each range, of the first 20 jobs that lack any'),
  senders: z
    .array(
      z.object({
        sender: z
          .string()
          .nullable()
          .describe('The last 12 digits of its event ids; null: events whose process is not known'),
        host: z.string().nullable(),
        stored: z.int(),
        reported: counts.nullable().describe('Its own latest counts; null where it sent none'),
        final: z
          .boolean()
          .describe('Whether it counted at its end; otherwise more events may have followed its counts'),
        missing: z.int().nullable(),
      }),
    )
    .describe('The processes that reported it, those first whose events are not all here: at most 100'),
})

export const jobDelivery = z.object({
  job_id: z.string(),
  status: z.string(),
  epochs: z.int().describe('Distinct epochs that are stored'),
  first_epoch: z.int().nullable(),
  last_epoch: z.int().nullable(),
  said_epochs: z.int().nullable().describe('`train_epochs` of its end; null where it said nothing'),
  every: z.number().nullable().describe('The usual distance of its epochs'),
  missing: z.number().describe('Epochs that its pace leads to expect and that are not stored'),
  gaps: z
    .array(z.tuple([z.number(), z.number()]))
    .describe('Where they are missing: first and last epoch of each range, the first 50'),
})
