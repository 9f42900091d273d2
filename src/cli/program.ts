import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import { runBackup } from './backup.ts'
import type { CommandContext } from './command-context.ts'
import { demo } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { runRestore } from './restore.ts'
import { start } from './start.ts'
import { runSweep } from './sweep.ts'
import { tokenCommand } from './token.ts'
import { userCommand } from './user.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The version of the service, which package.json names. */
export const readVersion = (): string =>
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

/**
 * The command `svc` with all that it can do. Parsing throws a CommanderError for `--help` (exitCode 0) and for what is
 * not understood (exitCode 1), after it has written the text for it.
 */
export function createProgram(surroundings: CommandContext): Command {
  const { settings, environment } = surroundings
  const program = new Command('svc')
    .description('Self-hosted experiment monitor: training events in, batches, jobs and charts out.')
    .version(readVersion(), '-V, --version', 'print the version')
    .showHelpAfterError('See svc --help.')
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, 'svc: ')) })
    .exitOverride()
    .helpCommand('help [command]', 'explain a command')
    .addHelpText(
      'after',
      `
Settings are environment variables (SVC_PORT, SVC_DATA_DIR, SVC_DATABASE_URL, SVC_PUBLIC_URL, …): docs/operations.md
lists them all. Every command works on the database that they name, also while servers run.

Examples:
  svc start                            serve on http://127.0.0.1:8080, data in ./.svc-data
  SVC_PORT=9000 svc start              on another port
  svc user create ada@example.org      the first account is the administrator
  svc token create ada@example.org     a token for training scripts
  svc doctor --mail ada@example.org    check the set-up, and send a test mail`,
    )
  program
    .command('start')
    .description('run the service until SIGTERM or Ctrl-C (the default)')
    .action(async () => {
      const { config, warnings } = settings()
      await start(config, warnings)
    })
  program
    .command('demo')
    .description('send a recorded and a live training to a running service, or to one that it starts')
    .addHelpText(
      'after',
      `
Reads SVC_URL (default: the service on this machine), SVC_DEMO_EMAIL and SVC_DEMO_PASSWORD (default: an account of its
own), and SVC_DEMO_LIVE_S, the seconds that the live training takes (default 120; 0: none).`,
    )
    .action(async () => {
      const { config, warnings } = settings()
      const { SVC_URL, SVC_DEMO_EMAIL, SVC_DEMO_PASSWORD, SVC_DEMO_LIVE_S, PATH, HOME } = environment
      await demo({
        url: SVC_URL,
        account: SVC_DEMO_EMAIL && SVC_DEMO_PASSWORD ? [SVC_DEMO_EMAIL, SVC_DEMO_PASSWORD] : undefined,
        config,
        warnings,
        liveS: seconds(SVC_DEMO_LIVE_S ?? '120'),
        environment: { PATH, HOME },
      })
    })
  program.addCommand(userCommand(surroundings))
  program.addCommand(tokenCommand(surroundings))
  program
    .command('backup')
    .description('write everything into one file; servers may run meanwhile')
    .argument('<file>', 'file to create; an existing one is never replaced')
    .action((file: string) => runBackup(file, settings().config))
  program
    .command('restore')
    .description('put a backup into an empty database, all of it or nothing')
    .argument('<file>', 'a file that svc backup wrote')
    .option('--replace', 'replace the content of the database')
    .action((file: string, options: { replace?: true }) =>
      runRestore(file, { replace: options.replace === true }, settings().config),
    )
  program
    .command('sweep')
    .description('remove what is past its retention time now, as the servers do once an hour')
    .option('--dry-run', 'only say what would go')
    .action((options: { dryRun?: true }) => runSweep({ dryRun: options.dryRun === true }, settings().config))
  program.addCommand(doctorCommand(surroundings))
  program
    .command('version')
    .description('print the versions of the service, Node and the platform')
    .action(() => {
      console.log(`svc ${readVersion()} (Node ${process.versions.node}, ${process.platform}-${process.arch})`)
    })
  for (const command of allOf(program)) inherit(command, program)
  return program
}

const allOf = (command: Command): Command[] => command.commands.flatMap((below) => [below, ...allOf(below)])

/** Commands that were made apart do not take over how errors are shown. */
function inherit(command: Command, program: Command): void {
  command.copyInheritedSettings(program)
  command.showHelpAfterError(`See ${path(command)} --help.`)
}

const path = (command: Command): string =>
  command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new ConfigError('SVC_DEMO_LIVE_S is not valid: must be a whole number')
  return Number(text)
}
