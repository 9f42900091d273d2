import type { Db, Fragment } from '../../db/sql.ts'
import type { Possession } from '../../query/index.ts'
import { readReference } from '../artifacts/index.ts'
import type { Entity } from './field-kinds.ts'

/**
 * Whether a batch or job has media under a key, or made or used an artifact: `resnet`, `resnet:v3` or `resnet:best`. What a batch
 * made or used without naming a job counts for the batch alone.
 */
export function ownsOf(
  db: Db,
  what: Possession,
  { of, row }: { of: Entity; row: Fragment },
  name: string,
): Fragment {
  if (what === 'media')
    return db`exists (select from media_keys mk where mk.key = ${name}
      and ${of === 'batch' ? db`mk.batch_key = ${row}.key` : db`mk.batch_key = ${row}.batch_key and mk.job_key = ${row}.key`})`
  const { artifact, version, alias } = readReference(name)
  const batchKey = of === 'batch' ? db`${row}.key` : db`${row}.batch_key`
  const ofJob = (column: Fragment): Fragment => (of === 'batch' ? db`true` : db`${column} = ${row}.id`)
  return db`exists (
    select from artifacts a join artifact_versions av on av.artifact_key = a.key
    where a.name = ${artifact} and a.project_key = (select pb.project_key from batches pb where pb.key = ${batchKey})
      and ${version === undefined ? db`true` : db`av.number = ${version}`}
      and ${
        alias === undefined
          ? db`true`
          : db`exists (select from artifact_aliases aa where aa.artifact_key = a.key and aa.alias = ${alias} and aa.version_key = av.key)`
      }
      and ((av.batch_key = ${batchKey} and ${ofJob(db`av.job_id`)})
        or exists (select from artifact_makers am where am.version_key = av.key and am.batch_key = ${batchKey} and ${ofJob(db`am.job_id`)})
        or exists (select from artifact_uses au where au.version_key = av.key and au.batch_key = ${batchKey} and ${ofJob(db`au.job_id`)})))`
}
