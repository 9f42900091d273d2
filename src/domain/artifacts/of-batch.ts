import type { Db } from '../../db/sql.ts'
import type { BatchArtifact } from './artifact-fields.ts'

type Relation = BatchArtifact['relation']

/** The place of a version in the list of its batch. */
export type ArtifactPlace = readonly [relation: Relation, name: string, number: number]

/** The versions that a batch made and those that it used, each once, by relation, name and number. */
export async function artifactsOfBatch(
  db: Db,
  batchKey: number,
  filter: { relation?: Relation | undefined; after?: ArtifactPlace | undefined; limit: number },
): Promise<(BatchArtifact & { number: number })[]> {
  const { relation, after, limit } = filter
  return db<(BatchArtifact & { number: number })[]>`/* artifacts.of_batch */
    with related as (
      select 'made' relation, version_key, nullif((array_agg(job_id order by at, job_id))[1], '') job_id, min(at) at
      from (
        select key version_key, coalesce(job_id, '') job_id, created_at at
        from artifact_versions where batch_key = ${batchKey}
        union all
        select version_key, job_id, at from artifact_makers where batch_key = ${batchKey}) m
      group by version_key
      union all
      select 'used', version_key, nullif((array_agg(job_id order by at, job_id))[1], ''), min(at)
      from artifact_uses where batch_key = ${batchKey} group by version_key)
    select r.relation, a.name, a.type, 'v' || v.number as version, v.number, encode(v.digest, 'hex') digest,
      case when v.n_missing = 0 then 'ready' else 'pending' end state,
      array(select s.alias from artifact_aliases s where s.version_key = v.key order by s.alias) aliases,
      v.size, v.n_files files, v.metadata, r.job_id, r.at
    from related r join artifact_versions v on v.key = r.version_key join artifacts a on a.key = v.artifact_key
    where ${relation === undefined ? db`true` : db`r.relation = ${relation}`}
      and ${
        after === undefined
          ? db`true`
          : db`(r.relation, a.name, v.number) > (${after[0]}::text, ${after[1]}, ${after[2]}::int)`
      }
    order by r.relation, a.name, v.number limit ${limit}`
}
