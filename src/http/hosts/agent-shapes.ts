import { z } from 'zod'
import { COMMAND_KINDS, COMMAND_STATES } from '../../domain/agents/index.ts'
import { isStorable } from '../../domain/storable-text.ts'
import * as shapes from '../request/shapes.ts'

export const storable = z.string().refine(isStorable, 'must be without NUL characters and lone surrogates')
/** The host name that the kernel reports. It must equal `source.host` exactly. */
export const hostname = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,253}$/u, 'must be 1 to 253 characters without control characters')
/** Readers and writers of JSON recurse: one that is nested thousands of times overflows their stack. */
const MAX_LEVELS = 64
const isNestedTooDeep = (value: unknown, levels = MAX_LEVELS): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some((one) => isNestedTooDeep(one, levels - 1)))
export const json = z.unknown().refine((value) => {
  if (isNestedTooDeep(value)) return false
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= 16_384 && isStorable(text) && !text.includes('\\u0000')
}, 'must be at most 16 KiB and 64 levels of JSON without NUL characters')
export const reason = storable.min(1).max(500)
const word = storable.min(1).max(128)
export const pid = z.int().min(1).max(4_194_304)
export const agoS = z.number().min(0).max(31_536_000).optional().describe('Age in seconds')
export const endedProcesses = z
  .array(z.object({ batch_id: word, pid, start_time: word, boot_id: word, reason: reason.optional() }))
  .max(1_000)
export const agentAndCommand = z.object({ id: z.string(), cmd_id: z.string() })
export const state = z.object({ state: z.enum(COMMAND_STATES) })
const text = z.string().nullable()

/** A command as an agent gets it. */
export const commandShape = z.object({
  cmd_id: z.string(),
  kind: z.enum(COMMAND_KINDS),
  batch_id: z.string(),
  command: text,
  cwd: text,
  pid: z.number().nullable().describe('For a stop: the process to end'),
  target_cmd_id: text.describe('For a stop: the command that started it'),
  process: z
    .object({ pid: z.int(), start_time: z.string(), boot_id: z.string() })
    .nullish()
    .describe('For a stop: the recorded process; null without a record'),
  env: z.record(z.string(), z.string()),
  authorized_by: z
    .enum(['record', 'owner_words'])
    .describe(
      'Of a rerun: `record`: run it only if your own record of the run has this command; `owner_words`: the signed-in owner entered the command',
    ),
  overridden: z.array(z.string()).describe('Which of `command` and `cwd` the owner entered'),
  created_at: shapes.instant,
})
