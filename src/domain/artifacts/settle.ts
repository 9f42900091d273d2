import type { Tx } from '../../db/sql.ts'
import type { Settle } from '../files/index.ts'
import { moveAliases, moveLatest } from './aliases.ts'

/** Attaches content to the artifacts that wait for it, and makes ready those that have all of theirs. */
export const settleArtifacts: Settle = async (tx, { projectKey, sha256, key }, now) => {
  const versions = await tx<{ version_key: number }[]>`/* artifacts.attach */
    update artifact_files set content_key = ${key}
    where project_key = ${projectKey} and sha256 = decode(${sha256}, 'hex') and content_key is null
    returning version_key`
  await countMissing(
    tx,
    versions.map(({ version_key }) => version_key),
    now,
  )
  return []
}

/** Counts what versions lack; those that lack nothing get their aliases. */
export async function countMissing(tx: Tx, versionKeys: readonly number[], now: Date): Promise<void> {
  if (versionKeys.length === 0) return
  const counted = await tx<
    {
      key: number
      number: number
      artifact_key: number
      wanted: string[]
      created_by: string | null
      n_missing: number
    }[]
  >`/* artifacts.count_missing */
    update artifact_versions v set n_missing = (
      select count(*) from artifact_files f where f.version_key = v.key and f.content_key is null)
    where v.key = any (${[...new Set(versionKeys)]}::bigint[]) and v.n_missing > 0
    returning v.key, v.number, v.artifact_key, v.wanted_aliases wanted, v.created_by, v.n_missing`
  const ready = counted.filter((version) => version.n_missing === 0).sort((a, b) => a.key - b.key)
  for (const { key, number, artifact_key: artifactKey, wanted, created_by: userId } of ready) {
    await tx`/* artifacts.lock */ select from artifacts where key = ${artifactKey} for no key update`
    await moveAliases(tx, artifactKey, wanted, { key, number }, { userId }, now)
    await moveLatest(tx, artifactKey, now)
  }
}
