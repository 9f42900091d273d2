import { Problem } from '../../problem.ts'
import { codeOf } from '../../thrown.ts'

export const offsetMismatch = (received: number): Problem =>
  new Problem('upload_offset_mismatch', {
    detail: `The next byte to send is at offset ${received}`,
    headers: { 'upload-offset': String(received) },
  })

export const tooMuch = (size: number): Problem =>
  new Problem('file_too_large', { detail: `The upload was declared with ${size} bytes` })

/** A full disk is a refusal of its own. */
export function storageFault(error: unknown): unknown {
  const code = codeOf(error)
  return code === 'ENOSPC' || code === 'EDQUOT' ? new Problem('storage_full', { cause: error }) : error
}
