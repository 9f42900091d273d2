import type { Db } from '../../db/sql.ts'
import type { Lineage } from './artifact-fields.ts'
import type { FoundVersion } from './reads.ts'

type Maker = NonNullable<Lineage['made_by']>
type Named = Lineage['artifact']

/** How many of each a lineage names. */
const MAX_NAMED = 500

/** Where a version comes from and what came of it, one step each way. */
export async function lineageOf(db: Db, { key, name, number }: FoundVersion): Promise<Lineage> {
  const [makers, users, inputs, outputs] = await Promise.all([
    db<Maker[]>`/* artifacts.made_by */
      select b.id batch_id, m.job_id from (
        select batch_key, job_id, created_at at from artifact_versions where key = ${key}
        union all
        select batch_key, nullif(job_id, ''), at from artifact_makers where version_key = ${key}) m
      join batches b on b.key = m.batch_key
      where b.purged_at is null and b.deleted_at is null order by m.at, b.key limit 1`,
    db<Lineage['used_by']>`/* artifacts.used_by */
      select b.id batch_id, nullif(s.job_id, '') job_id, s.at from artifact_uses s join batches b on b.key = s.batch_key
      where s.version_key = ${key} and b.purged_at is null and b.deleted_at is null
      order by s.at desc, s.batch_key, s.job_id limit ${MAX_NAMED}`,
    db<Named[]>`/* artifacts.inputs */
      select distinct a.name, 'v' || i.number as version, i.number from artifact_versions v
      join artifact_uses s on s.batch_key = v.batch_key and (v.job_id is null or s.job_id in ('', v.job_id))
      join artifact_versions i on i.key = s.version_key and i.key <> v.key
      join artifacts a on a.key = i.artifact_key
      where v.key = ${key} order by a.name, i.number limit ${MAX_NAMED}`,
    db<Lineage['outputs']>`/* artifacts.outputs */
      select distinct a.name, 'v' || o.number as version, o.number, b.id batch_id from artifact_uses s
      join batches b on b.key = s.batch_key and b.purged_at is null and b.deleted_at is null
      join lateral (
        select v.key, v.artifact_key, v.number, v.job_id from artifact_versions v where v.batch_key = s.batch_key
        union all
        select v.key, v.artifact_key, v.number, nullif(m.job_id, '') from artifact_makers m
        join artifact_versions v on v.key = m.version_key where m.batch_key = s.batch_key
      ) o on o.key <> s.version_key and (o.job_id is null or s.job_id in ('', o.job_id))
      join artifacts a on a.key = o.artifact_key
      where s.version_key = ${key} order by a.name, o.number limit ${MAX_NAMED}`,
  ])
  const named = ({ name: of, version }: Named): Named => ({ name: of, version })
  return {
    artifact: { name, version: `v${number}` },
    made_by: makers[0] ?? null,
    used_by: [...users],
    inputs: inputs.map(named),
    outputs: outputs.map((one) => ({ ...named(one), batch_id: one.batch_id })),
  }
}
