/** What a migration's text says of how it has to be run. */

/** An index that is built beside running writers, by name, or a change of rows in steps. */
export type Outside = { index: string } | 'steps'

/**
 * What the row of a migration says in `_prisma_migrations.logs` where servers that lack it may run on its tables. Its text says
 * so in a line of its own, and then it only adds what those servers need not know (CONTRIBUTING.md).
 */
export const RUNS_BESIDE = 'servers of earlier releases may run on it'
export const runsBeside = (script: string): boolean =>
  /^-- Servers of earlier releases may run on it\.$/m.test(script)

/** Whether, and why, this migration runs outside a transaction. */
export function outsideTransaction(script: string): Outside | undefined {
  const statement = script.replace(/--.*$/gm, '').trim()
  const index = CONCURRENT_INDEX.exec(statement)?.[1]
  if (index !== undefined) return { index }
  return STEPS.test(statement) ? 'steps' : undefined
}
const CONCURRENT_INDEX = /^create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(\w+)\s[^;]*;?$/i
const STEPS = /^do \$\$(?:(?!\$\$)[\s\S])*\n\s*commit;(?:(?!\$\$)[\s\S])*\$\$;?$/i

/** The same migration within a transaction, for a database that is not in use yet. */
export function withoutConcurrency(script: string): string {
  const outside = outsideTransaction(script)
  if (outside === undefined) return script
  return outside === 'steps'
    ? script.replace(/^\s*commit;$/gim, '')
    : script.replace(/\bindex\s+concurrently\b/i, 'index')
}
