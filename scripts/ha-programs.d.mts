/** The programs of the newest installed PostgreSQL server; undefined if there is none. */
export function postgresPrograms(): string | undefined
/** The names of those that this machine lacks. */
export function missingPrograms(): string[]
