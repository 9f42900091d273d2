import { EARLIER_RELEASES_ALLOWED, releaseIn } from './migration-script.ts'

/** A row of `_prisma_migrations`. */
export interface AppliedMigration {
  migration_name: string
  checksum: string
  finished_at: string | null
  logs: string | null
}

/**
 * @returns the names of the applied migrations that this release does not have and does not need
 * @throws Error when this release needs one of them, or when one was started and not finished
 */
export function newerMigrations(applied: AppliedMigration[], names: string[]): string[] {
  const newer = applied.filter((row) => !names.includes(row.migration_name))
  const unknown = newer.filter((row) => row.logs !== EARLIER_RELEASES_ALLOWED)
  const release = unknown.map(({ logs }) => releaseIn(logs)).findLast((one) => one !== undefined)
  if (unknown.length > 0)
    throw new Error(
      `the database is newer than this release: it has ${unknown.map((row) => row.migration_name).join(', ')}. ` +
        `Start ${release === undefined ? 'the release that wrote it' : `release ${release}`}, or a newer one, or restore a backup of this release into an empty database.`,
    )
  // The service never leaves such a row. Prisma's CLI does.
  const failed = applied.find((row) => row.finished_at === null)
  if (failed)
    throw new Error(
      `migration ${failed.migration_name} was begun by the Prisma CLI and not finished. Look at what it left, then run ` +
        `npx prisma migrate resolve --rolled-back ${failed.migration_name} (or --applied).`,
    )
  return newer.map((row) => row.migration_name)
}
