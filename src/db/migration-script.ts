import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the text of a migration says about how it has to run. */

/** The name of an index to build while writers go on, or a change of rows in steps. */
export type OutsideTransaction = { index: string } | 'steps'

/**
 * The value of `_prisma_migrations.logs` for a migration whose tables servers without it may use. The script declares
 * this in a line, and then only adds what those servers need not know (CONTRIBUTING.md).
 */
export const EARLIER_RELEASES_ALLOWED = 'servers of earlier releases may run on it'
export const allowsEarlierReleases = (script: string): boolean =>
  /^-- Servers of earlier releases may run on it\.$/m.test(script)

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
  version: string
}
const APPLIED_BY = 'applied by release '

/** What `_prisma_migrations.logs` says of a migration that this release applied: who may run on it, else which release that takes. */
export const logsOf = (script: string): string =>
  allowsEarlierReleases(script) ? EARLIER_RELEASES_ALLOWED : `${APPLIED_BY}${version}`
/** @returns the release that applied a migration with these logs; undefined if they do not say */
export const releaseIn = (logs: string | null): string | undefined =>
  logs?.startsWith(APPLIED_BY) ? logs.slice(APPLIED_BY.length) : undefined

/** Whether the migration runs outside a transaction, and why. */
export function outsideTransaction(script: string): OutsideTransaction | undefined {
  const statement = script.replace(/--.*$/gm, '').trim()
  const index = CONCURRENT_INDEX.exec(statement)?.[1]
  if (index !== undefined) return { index }
  return STEPS.test(statement) ? 'steps' : undefined
}
const CONCURRENT_INDEX = /^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s[^;]*;?$/i
const STEPS = /^do \$\$(?:(?!\$\$)[\s\S])*\n\s*commit;(?:(?!\$\$)[\s\S])*\$\$;?$/i

/** The same migration for use within a transaction, in a database that is not in use yet. */
export function withoutConcurrency(script: string): string {
  const outside = outsideTransaction(script)
  if (outside === undefined) return script
  return outside === 'steps'
    ? script.replace(/^\s*commit;$/gim, '')
    : script.replace(/\bindex\s+concurrently\b/i, 'index')
}
