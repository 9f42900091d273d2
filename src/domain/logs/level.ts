const RANKS: Record<string, number> = {
  debug: 10,
  info: 20,
  warning: 30,
  warn: 30,
  error: 40,
  critical: 50,
  fatal: 50,
}

/** Severity of a level; words that are not known rank as info (contract §1). Compared lower-case. */
export const levelRank = (level: string): number =>
  Object.hasOwn(RANKS, level) ? (RANKS[level] ?? Number.NaN) : 20

/** Whether the word has a severity of its own. */
export const isKnownLevel = (level: string): boolean => Object.hasOwn(RANKS, level)
