import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import type { ArtifactProject } from './access.ts'
import { LATEST, moveAliases, moveLatest } from './aliases.ts'
import { type FoundVersion, findVersion } from './reads.ts'

interface Named {
  name: string
  /** A version or an alias. */
  reference: string
}

const lockArtifact = (tx: Tx, { artifactKey }: FoundVersion) =>
  tx`/* artifacts.lock_version_of */ select from artifacts where key = ${artifactKey} for no key update`

const subjectOf = (project: ArtifactProject, name: string) => `artifact:${project.slug}/${name}` as const

/**
 * Adds aliases to a version and removes others from it; an alias that another version has moves.
 * @returns the aliases of the version
 * @throws Problem artifact_not_found, artifact_pending
 */
export async function changeAliases(
  tx: Tx,
  actor: Known,
  project: ArtifactProject,
  { name, reference }: Named,
  change: { add: readonly string[]; remove: readonly string[]; comment: string | undefined },
  now: Date,
): Promise<{ version: string; aliases: string[] }> {
  const version = await findVersion(tx, project.key, name, reference)
  if (!version.ready) throw new Problem('artifact_pending')
  await lockArtifact(tx, version)
  const { comment } = change
  const by = { userId: actor.user.id, comment }
  const own = await aliasesOf(tx, version)
  const removed = change.remove.filter((alias) => own.includes(alias) && !change.add.includes(alias))
  await moveAliases(tx, version.artifactKey, removed, null, by, now)
  await moveAliases(tx, version.artifactKey, change.add, version, by, now)
  const detail = {
    project: project.slug,
    version: `v${version.number}`,
    add: change.add,
    remove: removed,
    ...(comment !== undefined && { comment }),
  }
  await recordAudit(
    tx,
    actor,
    { action: 'artifact.aliases_changed', subject: subjectOf(project, name), detail },
    now,
  )
  return { version: `v${version.number}`, aliases: await aliasesOf(tx, version) }
}

async function aliasesOf(tx: Tx, { key }: FoundVersion): Promise<string[]> {
  const rows = await tx<{ alias: string }[]>`/* artifacts.aliases_of */
    select alias from artifact_aliases where version_key = ${key} order by alias`
  return rows.map(({ alias }) => alias)
}

/**
 * Notes that a batch, or a job of it, uses a version.
 * @returns whether that is new
 */
export async function addUse(
  tx: Tx,
  version: FoundVersion,
  { batchKey, jobId }: { batchKey: number; jobId: string | null },
  now: Date,
): Promise<boolean> {
  const { count } = await tx`/* artifacts.add_use */
    insert into artifact_uses (version_key, batch_key, job_id, at)
    values (${version.key}, ${batchKey}, ${jobId ?? ''}, ${instantOf(now)}) on conflict do nothing`
  return count > 0
}

/**
 * Deletes a version; its content goes when nothing else refers to it, and its number is not given again.
 * @throws Problem artifact_not_found; forbidden unless the actor administers the project or made the version; artifact_in_use
 *   for a version with an alias or with users, unless `force`
 */
export async function deleteVersion(
  tx: Tx,
  actor: Known,
  project: ArtifactProject,
  { name, reference }: Named,
  force: boolean,
  now: Date,
): Promise<void> {
  const version = await findVersion(tx, project.key, name, reference)
  if (!project.administers && version.createdBy !== actor.user.id) throw new Problem('forbidden')
  await lockArtifact(tx, version)
  const aliases = await aliasesOf(tx, version)
  const [used] = await tx<{ n: number }[]>`/* artifacts.count_uses */
    select count(*) n from artifact_uses s join batches b on b.key = s.batch_key
    where s.version_key = ${version.key} and b.purged_at is null`
  const reasons = [
    ...((used?.n ?? 0) > 0 ? ['batches used it'] : []),
    ...(aliases.some((alias) => alias !== LATEST) ? ['it has aliases'] : []),
  ]
  if (reasons.length > 0 && !force) {
    throw new Problem('artifact_in_use', {
      detail: `${reasons.join(', and ')}; force=true deletes it all the same`,
    })
  }
  await moveAliases(tx, version.artifactKey, aliases, null, { userId: actor.user.id }, now)
  await tx`/* artifacts.delete_uses */ delete from artifact_uses where version_key = ${version.key}`
  await tx`/* artifacts.delete_files */ delete from artifact_files where version_key = ${version.key}`
  await tx`/* artifacts.delete_version */ delete from artifact_versions where key = ${version.key}`
  await moveLatest(tx, version.artifactKey, now)
  const detail = { project: project.slug, version: `v${version.number}`, force }
  await recordAudit(tx, actor, { action: 'artifact.deleted', subject: subjectOf(project, name), detail }, now)
}
