import type { Tx } from '../../db/sql.ts'
import type { EpisodeKind, Mark } from './evaluate.ts'

/** A mark on a batch, job or agent, as stored. */
export interface Finding extends Mark {
  kind: EpisodeKind
  /** The key of the batch, job or agent. */
  subjectKey: number
  /** Null for agents. */
  batchKey: number | null
}

export interface EpisodeChanges {
  /** Findings that have no open episode yet. */
  opened: (Finding & {
    /** Whether the episode is new, so that rules may mail. If not, it continues one that an outage had closed. */
    fresh: boolean
  })[]
  /** Subjects whose episode has ended. */
  cleared: { kind: EpisodeKind; subjectKey: number; batchKey: number | null }[]
}

/** The kinds of subjects that one evaluation covers: batches with their jobs, or agents. */
export type Scope = { batches: readonly number[] } | { agents: readonly number[] }

/**
 * Opens and closes episodes of these subjects so that they match the findings. The subjects must be locked, so that a
 * second watcher sees the changes of the first.
 */
export async function updateEpisodes(
  tx: Tx,
  scope: Scope,
  findings: readonly Finding[],
  now: Date,
): Promise<EpisodeChanges> {
  const rows = findings.map((found) => ({
    kind: found.kind,
    subject: found.subjectKey,
    batch: found.batchKey,
    since: found.since,
    reason: found.reason,
  }))
  const found = tx`jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
    as f (kind text, subject bigint, batch bigint, since timestamptz, reason text)`
  const within =
    'batches' in scope
      ? tx`v.batch_key = any (${scope.batches}::bigint[])`
      : tx`v.kind = 'agent_offline' and v.subject_key = any (${scope.agents}::bigint[])`
  const cleared = await tx<
    { kind: EpisodeKind; subject: number; batch: number | null }[]
  >`/* episodes.clear */
    update verdicts v set cleared_at = ${now.toISOString()}
    where v.cleared_at is null and ${within}
      and not exists (select from ${found} where f.kind = v.kind and f.subject = v.subject_key)
    returning v.kind, v.subject_key subject, v.batch_key batch`
  const opened = await tx<{ kind: EpisodeKind; subject: number; fresh: boolean }[]>`/* episodes.open */
    insert into verdicts (kind, subject_key, batch_key, since, reason, judged_at)
    select f.kind, f.subject, f.batch, f.since, f.reason, ${now.toISOString()}::timestamptz from ${found}
    where not exists (
      select from verdicts v where v.kind = f.kind and v.subject_key = f.subject and v.cleared_at is null)
    on conflict (kind, subject_key, since) do update set cleared_at = null, reason = excluded.reason
    returning kind, subject_key subject, xmax = 0 fresh`
  const byName = new Map(findings.map((finding) => [`${finding.kind} ${finding.subjectKey}`, finding]))
  return {
    opened: opened.flatMap(({ kind, subject, fresh }) => {
      const finding = byName.get(`${kind} ${subject}`)
      return finding === undefined ? [] : [{ ...finding, fresh }]
    }),
    cleared: cleared.map(({ kind, subject, batch }) => ({ kind, subjectKey: subject, batchKey: batch })),
  }
}
