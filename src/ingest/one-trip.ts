import { numbered, type Piece, piece } from '../db/piece.ts'
import { databaseFault, type Tx } from '../db/sql.ts'
import type { Step, Trips } from '../db/trip.ts'
import { projectVersion } from '../domain/projects/index.ts'
import { validTokens } from '../domain/tokens/index.ts'
import { appendInOrder } from '../stream/commit.ts'
import { admit } from './admit.ts'
import { outcomesOf, remember } from './apply.ts'
import { changesOf } from './changes.ts'
import { blocksFor } from './claim.ts'
import { type Folded, foldGroup } from './fold.ts'
import type { Memory } from './memory.ts'
import { noticed } from './notice.ts'
import type { Item, Outcome } from './outcome.ts'
import { type Recalled, recall } from './recall.ts'
import type { Standing } from './standing.ts'
import { isWrittenTogether, writeTogether } from './write.ts'

/** Groups that ask first after a group that did not and was refused; doubled each time, up to the most. */
const LEAST_REST = 2
const MOST_REST = 64

/**
 * The short way for what nearly every group is: further epochs, lines and snapshots of jobs that this server wrote
 * last. It folds them into what it remembers and sends everything in one trip, as one transaction: lock, prove that
 * what was remembered still holds, write, append the changes, commit. Whatever does not hold, and every event that is
 * stored already, fails the proof or a unique index; then nothing was kept, and the group goes the long way (apply.ts).
 */
export interface OneTrip {
  /**
   * @returns the outcomes by position; undefined where the group has to go the long way
   * @throws when the connection was lost: then it is unknown whether the group was kept
   */
  attempt(items: readonly Item[]): Promise<Outcome[] | undefined>
}

export function createOneTrip(
  trips: Trips,
  memory: Memory,
  options: { autocreate: boolean; wake: () => void },
): OneTrip {
  let resting = 0
  let rest = LEAST_REST
  return {
    async attempt(items) {
      if (resting > 0) {
        resting--
        return undefined
      }
      const recalled = trips.ready ? recall(items, memory) : undefined
      if (recalled === undefined) return undefined
      const { standing } = recalled
      const admission = admit(items, standing, options)
      if (admission.admitted.length === 0) return undefined
      const folded = await foldByHeart(admission.admitted, standing)
      if (folded === undefined) return undefined
      const changes = changesOf(standing, folded, admission.admitted, [])
      try {
        const [, proof] = await trips.run([
          step('batches.lock_progress', lock(recalled)),
          step('ingest.prove', prove(recalled, blocksFor(items.length))),
          writeTogether(folded),
          step('changes.append', appendInOrder(changes)),
        ])
        const [version, blocks] = proof?.[0] as [string, string, string]
        rest = LEAST_REST
        options.wake()
        standing.version = version
        memory.ids.add(blocks.split(',').map(Number))
        remember(memory, standing, folded)
        return outcomesOf(items, admission)
      } catch (error) {
        if (databaseFault(error) === 'away') throw error
        resting = rest
        rest = Math.min(rest * 2, MOST_REST)
        return undefined
      }
    },
  }
}

/** The group folded; undefined where that, or what follows from it, needs more of the database than one statement. */
async function foldByHeart(admitted: Item[], standing: Standing): Promise<Folded | undefined> {
  try {
    const folded = await foldGroup(outOfReach, admitted, standing, new Set())
    return isWrittenTogether(folded) && noticed(admitted, standing, folded).length === 0 ? folded : undefined
  } catch (error) {
    if (error instanceof AskFirst) return undefined
    throw error
  }
}

class AskFirst extends Error {}
const outOfReach = (() => {
  throw new AskFirst()
}) as unknown as Tx

const texts = new Map<string, string>()

function step(name: string, of: Piece): Step {
  let text = texts.get(name)
  if (text === undefined) {
    text = numbered(of, 1)
    texts.set(name, text)
  }
  return { name, text, values: of.values }
}

/** In one order for all writers. The progress row is the batch's lock (prisma/migrations/002_telemetry). */
const lock = ({ batches }: Recalled): Piece => piece`/* batches.lock_progress */
  select from batch_progress where batch_key = any (string_to_array(${batches.map((b) => b.state.key).join(',')}, ',')::bigint[])
  order by batch_key for no key update`

/**
 * After the lock, so that it sees the work of whoever held it. What does not hold is an error, by way of a text that
 * is no number: whatever follows in the same transaction is then not done.
 */
function prove({ batches, access, tokens }: Recalled, blocks: number): Piece {
  const valid = validTokens(tokens)
  return piece`/* ingest.prove */
  select pg_current_xact_id()::xid::text,
    (select string_agg(nextval('event_block')::text, ',') from generate_series(1, ${blocks}::int)),
    (case when
      (select string_agg(p.xmin::text || ' ' || b.xmin::text, ',' order by w.n)
       from string_to_table(${batches.map((b) => b.state.key).join(',')}, ',') with ordinality as w (key, n)
       join batch_progress p on p.batch_key = w.key::bigint join batches b on b.key = p.batch_key)
      = ${batches.map((b) => `${b.version} ${b.ownVersion}`).join(',')}
      and
      (select string_agg(${projectVersion} || ' ' || coalesce(m.role, ''), ',' order by w.n)
       from rows from (
         string_to_table(${access.map((a) => a.projectKey).join(',')}, ','),
         string_to_table(${access.map((a) => a.userId).join(',')}, ',')) with ordinality as w (key, user_id, n)
       join projects p on p.key = w.key::int
       left join project_members m on m.project_key = p.key and m.user_id = w.user_id::uuid)
      = ${access.map((a) => a.expected).join(',')}
      and (select count(*) from (${valid}) t) = ${tokens.length}::int
    then '0' else 'what was remembered no longer holds' end)::int`
}
