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
  batch_id: z.string().min(1).max(512).nullish().describe('The batch that made it'),
  job_id: jobIdText.nullish(),
})

export const madeVersion = z.object({
  name: z.string(),
  type: z.string(),
  version: z.string().describe('Such as v0'),
  digest: z.string(),
  state: z.enum(['pending', 'ready']).describe('`pending` until all of its content has arrived'),
  uploads: z
    .array(z.object({ path: z.string(), sha256: z.string(), size: z.int(), upload_url: z.string() }))
    .describe('The content that is missing'),
})

export const artifactSummary = z.object({
  name: z.string(),
  type: z.string(),
  versions: z.int(),
  latest: z.string().nullable(),
  aliases: z.record(z.string(), z.string()).describe('The version that each alias points to'),
  size: z.int().describe('Bytes of the newest version'),
  created_at: shapes.instant,
  updated_at: shapes.instant,
})

const person = z.object({ id: z.string(), name: z.string() }).nullable()
const versionFields = {
  version: z.string(),
  digest: z.string(),
  state: z.enum(['pending', 'ready']),
  aliases: z.array(z.string()),
  size: z.int(),
  metadata: z.record(z.string(), z.unknown()),
  batch_id: z.string().nullable().describe('The batch that made it'),
  job_id: z.string().nullable(),
  created_at: shapes.instant,
  created_by: person,
  used_by: z.int().describe('How many batches used it'),
}
export const artifactShape = artifactSummary.extend({
  items: z.array(z.object({ ...versionFields, files: z.int().describe('How many') })),
  next_cursor: z.string().nullable(),
})
export const versionShape = z.object({
  name: z.string(),
  type: z.string(),
  ...versionFields,
  files: z.array(
    z.object({
      path: z.string(),
      sha256: z.string(),
      size: z.int(),
      media_type: z.string(),
      uploaded: z.boolean(),
      url: z.string().nullable(),
    }),
  ),
})

export const batchArtifactShape = z.object({
  relation: z.enum(['made', 'used']),
  name: z.string(),
  type: z.string(),
  version: versionFields.version,
  digest: versionFields.digest,
  state: versionFields.state,
  aliases: versionFields.aliases,
  size: versionFields.size,
  files: z.int().describe('How many'),
  metadata: versionFields.metadata,
  job_id: z.string().nullable().describe('The job that made it, or used it first'),
  at: shapes.instant.describe('When it was made, or first used'),
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

export const moveShape = z.object({
  alias: z.string(),
  version: z.string().nullable().describe('Null: it was removed'),
  from: z.string().nullable(),
  at: shapes.instant,
  by: person.describe('Null: the service, for `latest`'),
  comment: z.string().nullable(),
})

export const newUse = z.strictObject({
  batch_id: z.string().min(1).max(512),
  job_id: jobIdText.nullish(),
})
export const useShape = z.object({
  version: z.string(),
  batch_id: z.string(),
  job_id: z.string().nullable(),
})

const named = { name: z.string(), version: z.string() }
const maker = { batch_id: z.string(), job_id: z.string().nullable() }
export const lineageShape = z.object({
  artifact: z.object(named),
  made_by: z.object(maker).nullable(),
  used_by: z.array(z.object({ ...maker, at: shapes.instant })),
  inputs: z.array(z.object(named)).describe('What the batch that made it used'),
  outputs: z
    .array(z.object({ ...named, batch_id: z.string() }))
    .describe('What the batches that used it made'),
})
