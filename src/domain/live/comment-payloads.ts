import type { Db } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads } from '../../stream/payloads.ts'
import { streamedComments } from '../comments/index.ts'
import { type Notice, noticesById } from '../notices/index.ts'
import type { Viewer } from './follow.ts'

const keysOf = (changes: readonly LoggedChange[]): number[] => changes.flatMap(({ keys }) => keys)

/** `{comments}`: those that came, changed or went, without their authors. Shares show none of them. */
export async function loadComments(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const found = await streamedComments(db, keysOf(changes))
  return changes.map(({ keys }) => {
    const comments = keys.flatMap((key) => found.get(key) ?? [])
    if (comments.length === 0) return null
    const text = JSON.stringify({ comments })
    return { payloadFor: ({ share }) => (share ? undefined : { key: '', text: () => text }) }
  })
}

/** `{notices}`: each person gets their own, as long as they see what it is about. */
export async function loadNotices(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<Viewer> | null)[]> {
  const found = await noticesById(db, keysOf(changes))
  return changes.map(({ keys }) => {
    const notices = keys.flatMap((key) => found.get(key) ?? [])
    if (notices.length === 0) return null
    const ofUser = (userId: string): Notice[] =>
      notices.flatMap((one) => (one.userId === userId ? [one.notice] : []))
    return {
      payloadFor({ userId }) {
        if (userId === null) return undefined
        const own = ofUser(userId)
        if (own.length === 0) return undefined
        return { key: userId, text: () => JSON.stringify({ notices: own }) }
      },
    }
  })
}
