import { required } from '../checked.ts'
import type { Sql } from '../db/sql.ts'
import { findToken, touchToken } from '../domain/tokens/index.ts'
import { Problem } from '../problem.ts'
import { type Writer, write } from '../stream/commit.ts'
import type { Sender } from './outcome.ts'

/** How long a token is cached. The group's transaction checks it again before it stores anything (admit.ts). */
const CACHED_MS = 2_000
const MAX_CACHED = 10_000
/** A longer header than any valid one needs is not remembered. */
const MAX_HEADER = 200

export interface Authenticator {
  /**
   * Step 1 of specification §4.1.
   * @param authorization the header as received
   * @throws Problem unauthenticated; forbidden for a credential that may not send events
   */
  authenticate(authorization: string | undefined): Promise<Sender>
  /** The sender, if it is cached. */
  recognise(authorization: string | undefined): Sender | undefined
}

export function createAuthenticator(options: { sql: Sql; writer: Writer; now: () => Date }): Authenticator {
  const { sql, writer, now } = options
  const cache = new Map<string, { sender: Promise<Sender>; until: number }>()
  /** By the whole header. */
  const found = new Map<string, { sender: Sender; until: number }>()

  async function find(text: string): Promise<Sender> {
    const at = now()
    const token = await findToken(sql, text, at)
    if (token === undefined) throw new Problem('unauthenticated')
    if (token.kind === 'read') {
      throw new Problem('forbidden', { detail: 'A read token may not send events; use a reporter token' })
    }
    if (token.stale) {
      // The time of last use is information for users: no event waits for it, and its failure is ignored.
      void write(writer, (tx) => touchToken(tx, token.id, at)).catch(() => {})
    }
    const { id, user, commandId, batchId } = token
    return { id: user.id, role: user.role, tokenId: id, commandId, batchId }
  }

  return {
    recognise(authorization) {
      const known = authorization === undefined ? undefined : found.get(authorization)
      return known !== undefined && known.until > Date.now() ? known.sender : undefined
    },
    authenticate(authorization) {
      const text = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1]
      if (text === undefined) throw new Problem('unauthenticated')
      const clock = Date.now()
      const known = cache.get(text)
      if (known !== undefined && known.until > clock) return known.sender
      if (cache.size >= MAX_CACHED) cache.clear()
      const sender = find(text)
      cache.set(text, { sender, until: clock + CACHED_MS })
      sender.then(
        (known) => {
          if (found.size >= MAX_CACHED) found.clear()
          const header = required(authorization)
          if (header.length <= MAX_HEADER) found.set(header, { sender: known, until: clock + CACHED_MS })
        },
        () => cache.delete(text),
      )
      return sender
    },
  }
}
