import { z } from 'zod'

/** What a file is called and how its content is named (contract §11 "Files"). */
export interface DeclaredFile {
  path: string
  /** In lower case. */
  sha256: string
  size: number
  mediaType: string | null
  jobId: string | null
}

const MAX_PATH = 1024

/** Why this is not the path of a file; undefined if it is one. The same rule holds on every system that downloads it. */
export function faultOfPath(path: string): string | undefined {
  if (path.length === 0 || path.length > MAX_PATH) return 'must be 1 to 1,024 characters'
  if (!path.isWellFormed() || /\p{Cc}/u.test(path)) return 'must not contain control characters'
  if (path.includes('\\')) return 'must use / between its parts'
  if (/^[A-Za-z]:/.test(path)) return 'must not begin with a drive'
  if (path.split('/').some((part) => part === '' || part === '.' || part === '..'))
    return 'must be relative, with no part that is empty, "." or ".."'
  return undefined
}

export const filePath = z.string().superRefine((path, context) => {
  const message = faultOfPath(path)
  if (message !== undefined) context.addIssue({ code: 'custom', message })
})
export const sha256Text = z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case')
export const fileSize = z.int().min(0)
export const mediaTypeText = z
  .string()
  .max(128)
  .regex(/^[\w.+-]+\/[\w.+-]+$/, 'must be a media type such as image/png')

/** The hash of no bytes. */
export const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
