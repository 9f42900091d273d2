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
export const fileCounts = z
  .object({
    stored: z.int(),
    bytes: z.int(),
    missing: z.int().describe('Declared, and their content has not arrived'),
    missing_bytes: z.int(),
  })
  .describe('Files of the batch')

export const mediaCounts = z
  .object({ values: z.int(), missing: z.int().describe('Their content has not arrived') })
  .describe('Media values of the batch')

export const delivery = z.object({
  batch_id: z.string(),
  state: z
    .enum(['open', 'complete', 'incomplete', 'unknown'])
    .describe(
      '`open` while it runs; `unknown` if it ended and one of its processes sent no counts at its end',
    ),
  stored: z.int().describe('Stored events of the batch, each counted once'),
  reported: counts
    .nullable()
    .describe('The sum of the counts of its processes; null until each has sent counts'),
  missing: z
    .int()
    .nullable()
    .describe('Pending events: produced, neither dropped nor rejected, and not stored'),
  missing_epochs: z.number().describe('Epochs that are missing by the steady pace of their jobs'),
  gaps: z
    .array(z.object({ job_id: z.string(), ranges: z.array(z.tuple([z.number(), z.number()])) }))
    .describe('Ranges of missing epochs (first and last), of the first 20 jobs with gaps'),
  senders: z
    .array(
      z.object({
        sender: z
          .string()
          .nullable()
          .describe('The last 12 digits of its event ids; null for events of an unknown process'),
        host: z.string().nullable(),
        stored: z.int(),
        reported: counts.nullable().describe('Its latest counts; null if it sent none'),
        final: z
          .boolean()
          .describe('Whether it counted at its end; otherwise more events may have followed its counts'),
        missing: z.int().nullable(),
      }),
    )
    .describe('The processes that reported it, at most 100; those with pending events first'),
})

export const jobDelivery = z.object({
  job_id: z.string(),
  status: z.string(),
  epochs: z.int().describe('Stored epochs'),
  first_epoch: z.int().nullable(),
  last_epoch: z.int().nullable(),
  said_epochs: z.int().nullable().describe('`train_epochs` of its end event; null if absent'),
  every: z.number().nullable().describe('The usual step between its epochs'),
  missing: z.number().describe('Epochs that are missing by its steady pace'),
  gaps: z
    .array(z.tuple([z.number(), z.number()]))
    .describe('The missing ranges, first and last epoch of each; at most 50'),
})
