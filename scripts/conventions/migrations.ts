// What a migration may do (docs/architecture.md).
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { allowsEarlierReleases } from '../../src/db/migration-script.ts'
import { ROOT, read } from './sources.ts'

const names = readdirSync(join(ROOT, 'prisma/migrations')).filter((name) => !name.includes('.'))
const scriptOf = (name: string): string => read(`prisma/migrations/${name}/migration.sql`)

/** A migration has a number of its own, can be run twice and drops nothing that holds data. */
export function unsafeMigrations(): string[] {
  const numbers = names.map((name) => /^(\d{3})_[a-z_]+$/.exec(name)?.[1])
  return names.flatMap((name, i) => {
    const number = numbers[i]
    if (number === undefined) return [`${name} has no number`]
    if (numbers.indexOf(number) !== i) return [`${name} has the number of another migration`]
    return problemsOf(name).map((problem) => `${name}: ${problem}`)
  })
}

function problemsOf(name: string): string[] {
  const script = scriptOf(name)
    .replace(/--.*$/gm, '')
    // A constraint that gives way to a narrower one, which an earlier migration made (032).
    .replace('alter table events drop constraint if exists events_event_id_key;', '')
    // What 034 and 039 made for the time until the keys had changed, and keys that give way to those of 036 and 037.
    .replace(/drop trigger if exists (epochs|metric_chunks)_take_batch on \1;/, '')
    .replace(/drop constraint if exists (epochs|metric_chunks)_batch_known;/, '')
    .replace(
      /drop constraint (epochs|metric_chunks|events)_pkey;(?=\s*alter table \1 add constraint \1_pkey primary key)/,
      '',
    )
    // Indexes of 057 and 058 where their table got a key of its own instead (059).
    .replace(/drop index (epochs|metric_chunks)_step_key;/g, '')
    // A constraint that is made again at once, so that it lets more values through.
    .replace(
      /alter table (\w+) drop constraint if exists (\w+);\s*(?=alter table \1 add constraint \2\b)/gi,
      '',
    )
  const forbidden = [
    /\b(drop|truncate|rename)\b.*/gi,
    // What cannot be run twice.
    /\bcreate\s+(unlogged\s+)?(table|(unique\s+)?index|sequence|schema|extension)\s+(?!(?:concurrently\s+)?if not exists)\S+.*|\badd\s+column\s+(?!if not exists)\S+.*|\bcreate\s+(function|view|trigger)\b.*/gi,
    /\binsert\s+into\b(?![^;]*\bon conflict\b)[^;]*/gi,
    // Since then its tables may be distributed by Citus, which refuses that (decision 0025).
    ...(name > '050_cold_batches' ? [/\bset\s+storage\b.*/gi] : []),
  ]
  return forbidden.flatMap((pattern) => script.match(pattern) ?? [])
}

/** A migration that lets servers of earlier releases run on only adds what they need not name. */
export function migrationsThatStopEarlierReleases(): string[] {
  return names
    .filter((name) => allowsEarlierReleases(scriptOf(name)))
    .flatMap((name) => neededStatements(scriptOf(name)).map((statement) => `${name}: ${statement}`))
}

const ADDS =
  /^(create (table|(unique )?index (concurrently )?) ?if not exists|alter table \w+ add column if not exists (?!.*\bnot null\b(?!.*\bdefault\b)))/i

/** The statements of a migration that do more than add what earlier releases need not name. */
export const neededStatements = (script: string): string[] =>
  script
    .replace(/--.*$/gm, '')
    .split(';')
    .map((statement) => statement.trim().replace(/\s+/g, ' '))
    .filter((statement) => statement !== '' && !ADDS.test(statement))
