import { randomUUID } from 'node:crypto'
import type { Pipeline, Row, Step } from '../db/pipeline.ts'
import { databaseFault, type Tx } from '../db/sql.ts'
import { numbered, type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { projectVersion } from '../domain/projects/index.ts'
import { validTokens } from '../domain/tokens/index.ts'
import { append } from '../stream/commit.ts'
import { type AdmissionRules, admit } from './admit.ts'
import { outcomesOf, updateCache } from './apply.ts'
import type { IngestCache } from './cache.ts'
import { type CachedState, loadFromCache } from './cached-state.ts'
import { changesOf } from './changes.ts'
import { blocksFor } from './claim.ts'
import { type Folded, foldGroup } from './fold.ts'
import { happeningsOf } from './notice.ts'
import type { Item, Outcome } from './outcome.ts'
import type { GroupState } from './state.ts'
import type { NewTemplate } from './templates.ts'
import { isWrittenTogether, writingSteps } from './write.ts'

/** Marks a version that the database has not returned yet. In the statement it means the version of the previous write. */
const UNKNOWN = '@'

/** After a write whose check failed, so many groups are not pipelined; doubled with each failure, up to the maximum. */
const MIN_PAUSE_GROUPS = 2
const MAX_PAUSE_GROUPS = 64

/**
 * Writes a group in one round trip. It serves nearly all groups: further epochs, log lines and snapshots of jobs that this
 * server wrote last. It folds them into the cached state and sends everything as one transaction: lock, check that the
 * cached state is still current, write, append the changes, commit. If a row has changed, or an event is stored already,
 * the check or a unique index fails. The transaction is then rolled back, and the group is applied step by step
 * (apply.ts).
 *
 * A group may be sent before the previous one is answered, so that the database does not wait for this server in
 * between. It is folded into the state that the previous write will leave, and checks that this write was committed:
 * each write stores its name and version in a setting of the session, which is rolled back with it.
 */
export interface PipelinedWriter {
  /** Undefined if the group cannot be pipelined, or not before others are answered: then nothing was sent. */
  send(items: readonly Item[]): Promise<Sent | undefined>
}

export interface Sent {
  /**
   * The outcomes by position; undefined if the transaction was rolled back and the group must be applied step by step.
   * Rejects if the connection was lost: the group may or may not be stored.
   */
  answer: Promise<Outcome[] | undefined>
}

/** A write in the pipeline. */
interface Write {
  name: string
  /** Placeholder for the version of its rows, until the database returns it. */
  version: string
  /** The session settings with the name and version of this write, and of the one before. */
  setting: string
  settingBefore: string
  /** The write before it, if that is not answered yet. */
  before: Write | undefined
  failed: boolean
}

/** Reserve of ids: a group may be sent before the answer with new ids for it has arrived. */
const MIN_SPARE_IDS = 2_048
const SPARE_BLOCKS = 32

export function createPipelinedWriter(
  pipeline: Pipeline,
  cache: IngestCache,
  options: AdmissionRules & { wake: () => void },
): PipelinedWriter {
  let pausedGroups = 0
  let pause = MIN_PAUSE_GROUPS
  let sent = 0
  /** The last write, if it is not answered yet. */
  let last: Write | undefined
  const self = randomUUID()

  function nextWrite(before: Write | undefined): Write {
    sent++
    return {
      name: `${self}-${sent}`,
      version: `${UNKNOWN}${sent}`,
      setting: `svc.write_${sent % 2}`,
      settingBefore: `svc.write_${(sent + 1) % 2}`,
      before,
      failed: false,
    }
  }

  /** After a rollback: neither the group's state may stay cached, nor that of a group folded into it. */
  function forget({ batches }: GroupState): void {
    for (const id of batches.keys()) cache.take(id)
  }

  async function answered(
    submission: Promise<Row[][]>,
    write: Write,
    { state, templates }: { state: GroupState; templates: readonly NewTemplate[] },
    outcomes: () => Outcome[],
  ): Promise<Outcome[] | undefined> {
    try {
      const [, proof] = await submission
      const [version, blocks] = proof?.[0] as [string, string]
      pause = MIN_PAUSE_GROUPS
      options.wake()
      for (const batch of state.batches.values()) if (batch.version === write.version) batch.version = version
      cache.ids.add(blocks.split(',').map(Number))
      cache.templates.remember(templates)
      return outcomes()
    } catch (error) {
      write.failed = true
      forget(state)
      if (databaseFault(error) === 'unavailable') throw error
      if (write.before?.failed !== true) {
        pausedGroups = pause
        pause = Math.min(pause * 2, MAX_PAUSE_GROUPS)
      }
      return undefined
    } finally {
      if (last === write) last = undefined
      write.before = undefined
    }
  }

  return {
    async send(items) {
      if (pausedGroups > 0) {
        if (last === undefined) pausedGroups--
        return undefined
      }
      const cached = pipeline.ready ? loadFromCache(items, cache) : undefined
      if (cached === undefined) return undefined
      const { state } = cached
      const before = last
      const admission = admit(items, state, options)
      if (admission.admitted.length === 0) return undefined
      const folded = await foldFromCache(admission.admitted, state)
      if (folded === undefined) return undefined
      const changes = changesOf(state, folded, admission.admitted, [])
      const write = nextWrite(before)
      const spare = cache.ids.size < MIN_SPARE_IDS ? SPARE_BLOCKS : 0
      const submission = pipeline.run([
        step('batches.lock_progress', lock(cached)),
        step('ingest.prove', verifyCached(cached, blocksFor(items.length) + spare, write)),
        ...writingSteps(folded),
        step('changes.append', append(changes)),
      ])
      state.version = write.version
      updateCache(cache, state, folded)
      last = write
      const written = { state, templates: folded.templates }
      const answer = answered(submission, write, written, () => outcomesOf(items, admission, state))
      // The caller may still wait for an earlier group: a rejection must not count as unhandled until it awaits this one.
      answer.catch(() => {})
      return { answer }
    },
  }
}

/** Folds the group; undefined if that needs to read the database, or if the pipeline cannot write the result. */
async function foldFromCache(admitted: Item[], state: GroupState): Promise<Folded | undefined> {
  try {
    const folded = await foldGroup(noDatabase, admitted, state, new Set())
    return isWrittenTogether(folded) && happeningsOf(admitted, state, folded).length === 0
      ? folded
      : undefined
  } catch (error) {
    if (error instanceof NeedsDatabase) return undefined
    throw error
  }
}

class NeedsDatabase extends Error {}
const noDatabase = (() => {
  throw new NeedsDatabase()
}) as unknown as Tx

const texts = new Map<string, string>()

function step(name: string, of: SqlFragment): Step {
  let text = texts.get(name)
  if (text === undefined) {
    text = numbered(of, 1)
    texts.set(name, text)
  }
  return { name, text, values: of.values }
}

/** Locks the batches, in the same order as every writer. The progress row is a batch's lock (prisma/migrations/002_telemetry). */
const lock = ({ batches }: CachedState): SqlFragment => sqlFragment`/* batches.lock_progress */
  select from batch_progress where batch_key = any (string_to_array(${batches.map((b) => b.state.key).join(',')}, ',')::bigint[])
  order by batch_key for no key update`

/**
 * Runs after the lock, so that it sees what the previous holder wrote. If the check fails, it raises an error by casting a
 * text to a number, and PostgreSQL skips the rest of the transaction.
 */
function verifyCached({ batches, access, tokens }: CachedState, blocks: number, write: Write): SqlFragment {
  const valid = validTokens(tokens)
  const versionOf = ({ version }: { version: string }): string =>
    version.startsWith(UNKNOWN) ? UNKNOWN : version
  return sqlFragment`/* ingest.prove */
  select pg_current_xact_id()::xid::text,
    (select string_agg(nextval('event_block')::text, ',') from generate_series(1, ${blocks}::int)),
    (case when
      (select string_agg(p.xmin::text || ' ' || b.xmin::text, ',' order by w.n)
       from string_to_table(${batches.map((b) => b.state.key).join(',')}, ',') with ordinality as w (key, n)
       join batch_progress p on p.batch_key = w.key::bigint join batches b on b.key = p.batch_key)
      = replace(${batches.map((b) => `${versionOf(b)} ${b.ownVersion}`).join(',')}, '@',
          coalesce(split_part(current_setting(${write.settingBefore}, true), ' ', 2), ''))
      and
      (select string_agg(${projectVersion} || ' ' || coalesce(m.role, ''), ',' order by w.n)
       from rows from (
         string_to_table(${access.map((a) => a.projectKey).join(',')}, ','),
         string_to_table(${access.map((a) => a.userId).join(',')}, ',')) with ordinality as w (key, user_id, n)
       join projects p on p.key = w.key::int
       left join project_members m on m.project_key = p.key and m.user_id = w.user_id::uuid)
      = ${access.map((a) => a.expected).join(',')}
      and (select count(*) from (${valid}) t) = ${tokens.length}::int
      and ${write.before?.name ?? ''}::text in ('', split_part(current_setting(${write.settingBefore}, true), ' ', 1))
    then '0' else 'the cached state is outdated' end)::int,
    set_config(${write.setting}, ${write.name}::text || ' ' || pg_current_xact_id()::xid::text, false)`
}
