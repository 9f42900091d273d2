const RANKS: Record<string, number> = {
  debug: 10,
  info: 20,
  warning: 30,
  warn: 30,
  error: 40,
  critical: 50,
  fatal: 50,
}

/** The severity of a level; unknown words count as info (contract §1). In lower case. */
export const levelRank = (level: string): number =>
  Object.hasOwn(RANKS, level) ? (RANKS[level] ?? Number.NaN) : 20

/** Whether the level is known. */
export const isKnownLevel = (level: string): boolean => Object.hasOwn(RANKS, level)
