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

/** Marks a version that the database has not returned yet: in the statement, the one written by the previous trip. */
const UNKNOWN = '@'

/** Groups that ask first after a group that did not and was refused; doubled each time, up to the most. */
const MIN_PAUSE_GROUPS = 2
const MAX_PAUSE_GROUPS = 64

/**
 * The short way for what nearly every group is: further epochs, lines and snapshots of jobs that this server wrote
 * last. It folds them into what it remembers and sends everything in one trip, as one transaction: lock, prove that
 * what was remembered still holds, write, append the changes, commit. A row that has changed, and every event that is
 * stored already, fails the proof or a unique index; then nothing was kept, and the group goes the long way (apply.ts).
 *
 * A group may be sent while the one before it is under way, so that the database need not wait for this server between
 * them. It is folded into what the one before it will leave, and proves that this was kept: each trip leaves its name
 * and its version in a setting of the session, which is rolled back with it.
 */
export interface PipelinedWriter {
  /** What was sent; undefined where the group has to go the long way, or cannot be sent before others are answered. */
  send(items: readonly Item[]): Promise<Sent | undefined>
}

export interface Sent {
  /**
   * The outcomes by position; undefined where nothing was kept and the group has to go the long way. Rejects when the
   * connection was lost: then it is unknown whether the group was kept.
   */
  answer: Promise<Outcome[] | undefined>
}

/** The position of a write in the pipeline. */
interface Link {
  name: string
  /** The version of what it writes, until its answer tells. */
  version: string
  /** The setting that it leaves its name and version in, and that of the trip before it. */
  setting: string
  settingBefore: string
  /** The trip before it that is not answered yet. */
  before: Link | undefined
  failed: boolean
}

/** Ids that are kept for groups to come, of which one may be sent before the answer to the one before brings new ones. */
const MIN_SPARE_IDS = 2_048
const SPARE_BLOCKS = 32

export function createPipelinedWriter(
  pipeline: Pipeline,
  cache: IngestCache,
  options: AdmissionRules & { wake: () => void },
): PipelinedWriter {
  let resting = 0
  let rest = MIN_PAUSE_GROUPS
  let sent = 0
  /** Sent last and not answered yet. */
  let last: Link | undefined
  const self = randomUUID()

  function nextLink(before: Link | undefined): Link {
    sent++
    return {
      name: `${self}-${sent}`,
      version: `${UNKNOWN}${sent}`,
      setting: `svc.trip_${sent % 2}`,
      settingBefore: `svc.trip_${(sent + 1) % 2}`,
      before,
      failed: false,
    }
  }

  /** Nothing of a group that was not kept may be remembered, nor of one that was folded into it. */
  function forget({ batches }: GroupState): void {
    for (const id of batches.keys()) cache.take(id)
  }

  async function answered(
    submission: Promise<Row[][]>,
    link: Link,
    { state, templates }: { state: GroupState; templates: readonly NewTemplate[] },
    outcomes: () => Outcome[],
  ): Promise<Outcome[] | undefined> {
    try {
      const [, proof] = await submission
      const [version, blocks] = proof?.[0] as [string, string]
      rest = MIN_PAUSE_GROUPS
      options.wake()
      for (const batch of state.batches.values()) if (batch.version === link.version) batch.version = version
      cache.ids.add(blocks.split(',').map(Number))
      cache.templates.remember(templates)
      return outcomes()
    } catch (error) {
      link.failed = true
      forget(state)
      if (databaseFault(error) === 'away') throw error
      if (link.before?.failed !== true) {
        resting = rest
        rest = Math.min(rest * 2, MAX_PAUSE_GROUPS)
      }
      return undefined
    } finally {
      if (last === link) last = undefined
      link.before = undefined
    }
  }

  return {
    async send(items) {
      if (resting > 0) {
        if (last === undefined) resting--
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
      const link = nextLink(before)
      const spare = cache.ids.size < MIN_SPARE_IDS ? SPARE_BLOCKS : 0
      const submission = pipeline.run([
        step('batches.lock_progress', lock(cached)),
        step('ingest.prove', verifyCached(cached, blocksFor(items.length) + spare, link)),
        ...writingSteps(folded),
        step('changes.append', append(changes)),
      ])
      state.version = link.version
      updateCache(cache, state, folded)
      last = link
      const written = { state, templates: folded.templates }
      const answer = answered(submission, link, written, () => outcomesOf(items, admission))
      // The caller may still wait for an earlier group: a rejection must not count as unhandled until it awaits this one.
      answer.catch(() => {})
      return { answer }
    },
  }
}

/** The group folded; undefined where that, or what follows from it, needs more of the database than one statement. */
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

/** In one order for all writers. The progress row is the batch's lock (prisma/migrations/002_telemetry). */
const lock = ({ batches }: CachedState): SqlFragment => sqlFragment`/* batches.lock_progress */
  select from batch_progress where batch_key = any (string_to_array(${batches.map((b) => b.state.key).join(',')}, ',')::bigint[])
  order by batch_key for no key update`

/**
 * After the lock, so that it sees the work of its previous holder. A failed check raises an error, by casting a text that
 * is not a number: the rest of the transaction is then not executed.
 */
function verifyCached({ batches, access, tokens }: CachedState, blocks: number, link: Link): SqlFragment {
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
          coalesce(split_part(current_setting(${link.settingBefore}, true), ' ', 2), ''))
      and
      (select string_agg(${projectVersion} || ' ' || coalesce(m.role, ''), ',' order by w.n)
       from rows from (
         string_to_table(${access.map((a) => a.projectKey).join(',')}, ','),
         string_to_table(${access.map((a) => a.userId).join(',')}, ',')) with ordinality as w (key, user_id, n)
       join projects p on p.key = w.key::int
       left join project_members m on m.project_key = p.key and m.user_id = w.user_id::uuid)
      = ${access.map((a) => a.expected).join(',')}
      and (select count(*) from (${valid}) t) = ${tokens.length}::int
      and ${link.before?.name ?? ''}::text in ('', split_part(current_setting(${link.settingBefore}, true), ' ', 1))
    then '0' else 'what was remembered no longer holds' end)::int,
    set_config(${link.setting}, ${link.name}::text || ' ' || pg_current_xact_id()::xid::text, false)`
}
