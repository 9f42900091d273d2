import { partOf } from './batch-parts.ts'
import { batchAt } from './batches.ts'
import { forbidden } from './graphql.ts'
import { post, remove } from './request.ts'
import type { Page, Share } from './types.ts'
import { wireRow } from './wire-row.ts'

export async function fetchShares(id: string): Promise<Page<Share>> {
  const { shares } = await partOf(id, 'shares')
  if (shares == null) throw forbidden()
  return { items: shares.map((share) => wireRow(share)), next_cursor: null }
}
export const createShare = (
  id: string,
  body: { anonymous: boolean; expires_at?: string },
): Promise<{ id: string; url: string; token: string }> => post(`${batchAt(id)}/shares`, body)
export const revokeShare = (id: string): Promise<void> => remove(`/api/shares/${encodeURIComponent(id)}`)
