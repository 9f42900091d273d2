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

/** Names of the user and the machine of a batch. */
export type Whereabouts = readonly (string | null | undefined)[]

/** What an anonymous share hides. */
export interface Hiding {
  /** In a text, or in all texts of a value and their names. */
  text: <T>(value: T) => T
  /** In the name of a series or parameter. */
  name: (name: string) => string
}

/** Hides these names, the short form of host names too, and every path. */
export function hidingOf(whereabouts: Whereabouts): Hiding {
  const names = [...new Set(whereabouts.flatMap((name) => (name ? [name, shortName(name)] : [])))]
    .filter((name) => name.length > 1)
    .sort((a, b) => b.length - a.length)
    .map((name) => name.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
  const who =
    names.length === 0
      ? null
      : new RegExp(`(?<![\\p{L}\\p{N}])(?:${names.join('|')})(?![\\p{L}\\p{N}])`, 'giu')
  const anonymous = (value: string): string => (who === null ? value : value.replace(who, HIDDEN))
  const hide = (value: string): string =>
    anonymous(value.replace(WORD, (word) => (isPath(word) ? HIDDEN : word)))
  // Names are often grouped by a slash (`optim/lr`): only a whole path is hidden among them.
  const name = (value: string): string =>
    /^(?:[\\/~]|[A-Za-z]:[\\/])/.test(value) ? hide(value) : anonymous(value)
  return { name, text: <T>(value: T) => deeply(value, hide, name) as T }
}

/** `gpu-7.lab.example` → `gpu-7`; an address or a name with spaces has no short form. */
const shortName = (name: string): string => /^([a-z][\w-]*)\.[\w.-]+$/i.exec(name)?.[1] ?? name

/** Hides user, host and every path (contract §4 "Shares"), in all texts of the batch. */
export function anonymizeBatch(batch: BatchView): { batch: BatchView } & Hiding {
  const { env_snapshot: environment } = batch
  const hiding = hidingOf([batch.user, batch.host, environment?.hostname, batch.owner?.name])
  return {
    ...hiding,
    batch: exposed(
      {
        ...batch,
        env_snapshot:
          environment === null
            ? null
            : { commit: environment.commit, command: environment.command, cwd: null, hostname: null },
      },
      PUBLIC_BATCH,
      hiding.text,
    ),
  }
}

/** A job in an anonymous share; `text` is the one of its batch's `anonymous`. */
export const anonymizeJob = (job: JobView, text: <T>(value: T) => T): JobView =>
  exposed(job, PUBLIC_JOB, text)

function deeply(value: unknown, hide: (text: string) => string, nameOf: (name: string) => string): unknown {
  if (typeof value === 'string') return hide(value)
  if (Array.isArray(value)) return value.map((item) => deeply(item, hide, nameOf))
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = Object.create(null)
  for (const [name, item] of Object.entries(value)) {
    const shown = nameOf(name)
    let free = shown
    // Two names may look alike once they are hidden: both keep their values.
    for (let n = 2; free in copy; n++) free = `${shown} ${n}`
    copy[free] = deeply(item, hide, nameOf)
  }
  return copy
}
