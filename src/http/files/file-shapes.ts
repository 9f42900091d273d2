import { z } from 'zod'
import { shapeOf } from '../../domain/field.ts'
import {
  type DeclaredFile,
  fileFields,
  filePath,
  fileSize,
  mediaTypeText,
  sha256Text,
} from '../../domain/files/index.ts'

/** Bodies that name many files. */
export const MAX_LIST_BYTES = 4 * 1024 * 1024

export const jobIdText = z
  .string()
  .regex(/^[^\p{Cc}\p{Cs}]{1,128}$/u, 'must be 1 to 128 characters without control characters')

/** A file as its sender declares it. */
export const contentOfFile = {
  path: filePath,
  sha256: sha256Text,
  size: fileSize,
  media_type: mediaTypeText
    .nullish()
    .describe('What the sender takes it for; its content decides how it is shown'),
}

/** Refuses a path that is named twice. */
export function refuseRepeatedPaths(
  files: readonly { path: string }[],
  context: { addIssue(issue: { code: 'custom'; path: PropertyKey[]; message: string }): void },
): void {
  const seen = new Set<string>()
  for (const [i, { path }] of files.entries()) {
    if (seen.has(path)) context.addIssue({ code: 'custom', path: [i, 'path'], message: 'is named twice' })
    seen.add(path)
  }
}

export const declarations = z.strictObject({
  files: z
    .array(z.strictObject({ ...contentOfFile, job_id: jobIdText.nullish() }))
    .min(1)
    .max(1_000)
    .superRefine(refuseRepeatedPaths),
})

export const declaredFiles = ({ files }: z.output<typeof declarations>): DeclaredFile[] =>
  files.map(({ path, sha256, size, media_type: mediaType = null, job_id: jobId = null }) => ({
    path,
    sha256,
    size,
    mediaType,
    jobId,
  }))

export const fileShape = shapeOf(fileFields).extend({ url: z.string() })
