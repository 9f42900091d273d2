import { createHash } from 'node:crypto'

/** The share token of a batch in a report, derived from the token of the report's link: neither is stored. */
export const tokenOfBatch = (linkToken: string, batchId: string): string =>
  createHash('sha256').update(`${linkToken}\n${batchId}`).digest('base64url').slice(0, 32)
