import { openSweeper } from '../app.ts'
import { type Config, ConfigError } from '../config.ts'
import { pendingMigrations } from '../db/migrate.ts'
import { openSql } from '../db/sql.ts'
import { MIGRATIONS } from './backup.ts'
import { onDatabase } from './database.ts'
import { stopSignal } from './progress.ts'

/**
 * `svc sweep [--dry-run]`: removes what is past its time, or says what would go. Servers may run meanwhile; what was
 * begun when Ctrl-C comes is gone on with by the next sweep.
 * @throws an Error with one line for the operator
 */
export async function runSweep(args: readonly string[], config: Config): Promise<void> {
  if (args.length > 1 || (args[0] !== undefined && args[0] !== '--dry-run'))
    throw new ConfigError('svc sweep takes nothing but --dry-run')
  await onDatabase(config, async (url) => {
    await refuseOtherRelease(url)
    const sweeper = openSweeper(config, url)
    try {
      if (args[0] === '--dry-run') {
        tell(await sweeper.survey(), 'would go', 'Nothing would go.')
        return
      }
      const done = await sweeper.sweep(stopSignal())
      if (done === undefined) throw new Error('a server sweeps at this moment: see its log')
      const rows = Object.entries(done).map(([kind, n]) => ({ kind, project: null, n }))
      tell(
        rows.filter(({ n }) => n > 0),
        'went',
        'Nothing was past its time.',
      )
    } finally {
      await sweeper.close()
    }
  })
}

async function refuseOtherRelease(url: string): Promise<void> {
  const sql = openSql(url, { name: 'sweep command', max: 1 })
  try {
    if ((await pendingMigrations(sql, MIGRATIONS)).length > 0)
      throw new Error('the database has not the tables of this release: start the service first')
  } finally {
    await sql.end({ timeout: 5 })
  }
}

function tell(
  rows: readonly { kind: string; project: string | null; n: number }[],
  what: string,
  none: string,
): void {
  if (rows.length === 0) console.log(none)
  for (const { kind, project, n } of rows)
    console.log(
      `${String(n).padStart(12)} ${kind.replaceAll('_', ' ')} ${what}${project === null ? '' : `, project ${project}`}`,
    )
}
