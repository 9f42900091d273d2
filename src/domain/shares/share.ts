import { createHash } from 'node:crypto'
import { makeSecret } from '../../secrets.ts'
import type { BatchView } from '../batches/index.ts'
import type { JobView } from '../jobs/index.ts'
import { exposed, PUBLIC_BATCH, PUBLIC_JOB, publicBatch } from './public-fields.ts'

/** 192 random bits as URL-safe text. */
export const makeShareToken = (): string => makeSecret(24)

/** The stored hash of a token; its random bits need no salt. */
export const shareTokenHash = (token: string): Buffer => createHash('sha256').update(token).digest()

/** The form of a token; other text is not looked up. */
export const isShareToken = (text: string): boolean => /^[A-Za-z0-9_-]{32}$/.test(text)

const NO_RIGHTS = { stop: false, rerun: false, delete: false, share: false, edit: false }

/** A batch in a share: its public fields, read-only. */
export const sharedView = (batch: BatchView): BatchView => ({ ...publicBatch(batch), can: NO_RIGHTS })

const HIDDEN = '[hidden]'
/** Words between white space, quotes and separators of values; each is checked once, in time linear to its length. */
const WORD = /[^\s"'`,;|<>()[\]{}=]+/g
/** Any slash makes a word a path, also in a web address: hiding a fraction is better than showing a folder. */
const isPath = (word: string): boolean => /[\\/]/.test(word) || word.startsWith('~')

/** Hides user, host and every path (contract §4 "Shares"), in all texts of the batch. */
export function anonymizeBatch(batch: BatchView): { batch: BatchView; text: <T>(value: T) => T } {
  const names = [batch.user, batch.host, batch.env_snapshot?.hostname, batch.owner?.name]
    .filter((name): name is string => typeof name === 'string' && name.length > 1)
    .map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const who =
    names.length === 0
      ? null
      : new RegExp(`(?<![\\p{L}\\p{N}])(?:${names.join('|')})(?![\\p{L}\\p{N}])`, 'giu')
  const hide = (value: string): string => {
    const pathless = value.replace(WORD, (word) => (isPath(word) ? HIDDEN : word))
    return who === null ? pathless : pathless.replace(who, HIDDEN)
  }
  const text = <T>(value: T): T => deeply(value, hide) as T
  const { env_snapshot: environment } = batch
  return {
    text,
    batch: exposed(
      {
        ...batch,
        env_snapshot:
          environment === null
            ? null
            : { commit: environment.commit, command: environment.command, cwd: null, hostname: null },
      },
      PUBLIC_BATCH,
      text,
    ),
  }
}

/** A job in an anonymous share; `text` is the one of its batch's `anonymous`. */
export const anonymizeJob = (job: JobView, text: <T>(value: T) => T): JobView =>
  exposed(job, PUBLIC_JOB, text)

function deeply(value: unknown, hide: (text: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item) => deeply(item, hide))
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, item] of Object.entries(value)) {
    // Names of parameters are often grouped by a slash (`optim/lr`): only a whole path is hidden among them.
    copy[/^(?:[\\/~]|[A-Za-z]:[\\/])/.test(name) ? hide(name) : name] = deeply(item, hide)
  }
  return copy
}
