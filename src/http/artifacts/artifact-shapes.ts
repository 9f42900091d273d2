import { z } from 'zod'
import { LATEST, versionNumber } from '../../domain/artifacts/index.ts'
import { contentOfFile, jobIdText, refuseRepeatedPaths } from '../files/file-shapes.ts'
import * as shapes from '../request/shapes.ts'

const MAX_FILES = 10_000
const MAX_METADATA = 64 * 1024

// No pattern of the OpenAPI document: most readers of it know no Unicode properties.
const artifactName = z
  .string()
  .refine(
    (name) => /^(?!\.{1,2}$)[\p{L}\p{N}._ -]{1,128}$/u.test(name),
    'must be 1 to 128 letters, digits, ".", "_", "-" or spaces, and not "." or ".."',
  )
export const aliasName = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,128}$/, 'must be 1 to 128 of A-Z, a-z, 0-9, ".", "_" and "-"')
  .refine((alias) => versionNumber(alias) === undefined, 'must not look like a version')
  .refine((alias) => alias !== LATEST, 'latest moves by itself')
const aliases = z.array(aliasName).max(50)

export const newVersion = z.strictObject({
  name: artifactName,
  type: shapes.label,
  files: z.array(z.strictObject(contentOfFile)).min(1).max(MAX_FILES).superRefine(refuseRepeatedPaths),
  metadata: z
    .record(z.string(), z.unknown())
    .refine((value) => JSON.stringify(value).length <= MAX_METADATA, 'must be at most 64 KiB of JSON')
    // An escape of JSON, not a backslash that the text itself has before the same letters.
    .refine((value) => !/(?<!\\)(?:\\\\)*\\(?:u0000|ud[89a-f])/i.test(JSON.stringify(value)), {
      error: 'must be without NUL characters and lone surrogates',
    })
    .nullish(),
  aliases: aliases.optional(),
  batch_id: z.string().min(1).max(512).nullish().describe('The batch that created it'),
  job_id: jobIdText.nullish(),
})

export const aliasChange = z
  .strictObject({
    add: aliases.optional(),
    remove: aliases.optional(),
    comment: z
      .string()
      .max(1_000)
      .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must be one line')
      .optional(),
  })
  .refine(({ add = [], remove = [] }) => add.length + remove.length > 0, 'must add or remove something')

export const newUse = z.strictObject({
  batch_id: z.string().min(1).max(512),
  job_id: jobIdText.nullish(),
})
export const useShape = z.object({
  version: z.string(),
  batch_id: z.string(),
  job_id: z.string().nullable(),
})
