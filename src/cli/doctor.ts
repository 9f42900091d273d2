import { Command } from 'commander'
import { examine } from './checks.ts'
import type { CommandContext } from './command-context.ts'
import type { Finding } from './finding.ts'

const LABELS: Record<Finding['state'], string> = { ok: 'ok', warning: 'warning', failure: 'FAILURE' }

/** `svc doctor`: checks the configuration, and says how to fix what it finds. */
export function doctorCommand({ settings }: CommandContext): Command {
  return new Command('doctor')
    .description('check database, disk, clock, mail, public URL, TLS, proxy and registration; say what to do')
    .option('--mail <email>', 'also send a test mail to this address')
    .option('--json', 'print the findings as JSON lines')
    .addHelpText(
      'after',
      `
Reads the same settings as the service; run it where the service runs, as the same user, best while it runs.
The exit code is 1 when anything fails, and 0 when there are warnings at most.`,
    )
    .action(async ({ mail, json }: { mail?: string; json?: true }) => {
      const { config, warnings } = settings()
      const counts = { ok: 0, warning: 0, failure: 0 }
      for await (const finding of examine(config, { warnings, mailTo: mail })) {
        counts[finding.state]++
        console.log(json ? JSON.stringify(finding) : shown(finding))
      }
      if (!json)
        console.log(
          `\n${counts.ok} ok, ${plural(counts.warning, 'warning')}, ${plural(counts.failure, 'failure')}`,
        )
      if (counts.failure > 0) process.exitCode = 1
    })
}

const shown = ({ state, subject, text, advice }: Finding): string =>
  `${LABELS[state].padEnd(8)} ${subject.padEnd(13)} ${text}${advice === undefined ? '' : `\n${' '.repeat(23)}→ ${advice}`}`

const plural = (n: number, word: string): string => `${n} ${word}${n === 1 ? '' : 's'}`
