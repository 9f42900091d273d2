import type { Config } from '../config.ts'
import { onDatabase, onTables } from './database.ts'
import { stopSignal } from './progress.ts'

/**
 * `svc sweep [--dry-run]`: deletes expired data, or prints what would be deleted. Servers may run meanwhile. The next
 * sweep continues one that Ctrl-C ended.
 * @throws an Error with one line for the operator
 */
export async function runSweep({ dryRun }: { dryRun: boolean }, config: Config): Promise<void> {
  await onDatabase(config, async (url) => {
    await onTables(url, async () => {})
    const { openSweeper } = await import('../app.ts')
    const sweeper = openSweeper(config, url)
    try {
      if (dryRun) {
        printCounts(await sweeper.survey(), 'would go', 'Nothing would go.')
        return
      }
      const done = await sweeper.sweep(stopSignal())
      if (done === undefined) throw new Error('a server sweeps at this moment: see its log')
      const rows = Object.entries(done).map(([kind, n]) => ({ kind, project: null, n }))
      printCounts(
        rows.filter(({ n }) => n > 0),
        'went',
        'Nothing was past its time.',
      )
    } finally {
      await sweeper.close()
    }
  })
}

function printCounts(
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
