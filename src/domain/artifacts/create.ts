import { entryOf, required } from '../../checked.ts'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Known } from '../caller.ts'
import { type DeclaredFile, type Place, uploadUrl } from '../files/index.ts'
import { moveAliases } from './aliases.ts'
import type { MadeVersion } from './artifact-fields.ts'
import { digestOfFiles } from './digest.ts'
import { countMissing } from './settle.ts'

export interface WantedArtifact {
  name: string
  type: string
  files: readonly Omit<DeclaredFile, 'jobId'>[]
  metadata: Record<string, unknown>
  aliases: readonly string[]
  /** The batch that made it. */
  batchKey: number | null
  jobId: string | null
}

/**
 * Makes a version of an artifact, or finds the one that has the same files.
 * @param places where the content of the files is (`placeContent`)
 * @throws Problem artifact_type_mismatch
 */
export async function createVersion(
  tx: Tx,
  actor: Known,
  projectKey: number,
  wanted: WantedArtifact,
  places: ReadonlyMap<string, Place>,
  now: Date,
): Promise<MadeVersion & { created: boolean }> {
  const { name, type, files } = wanted
  const artifactKey = await lockedArtifact(tx, projectKey, { name, type }, now)
  const digest = digestOfFiles(files)
  const known = await versionOf(tx, artifactKey, digest)
  const version =
    known ?? (await insertVersion(tx, actor, { artifactKey, projectKey, digest }, wanted, places, now))
  if (known !== undefined) {
    await renewFiles(tx, known, projectKey, wanted.aliases, { actor, artifactKey }, now)
    await addMaker(tx, known.key, wanted, now)
  }
  const [row] = await tx<{ missing: string[] }[]>`/* artifacts.missing */
    select coalesce(array_agg(path order by path) filter (where content_key is null), '{}') missing
    from artifact_files where version_key = ${version.key}`
  const missing = new Set(required(row).missing)
  return {
    created: known === undefined,
    name,
    type,
    version: `v${version.number}`,
    digest,
    state: missing.size === 0 ? 'ready' : 'pending',
    uploads: files.flatMap(({ path, sha256, size }) => {
      const upload_url = uploadUrl(entryOf(places, sha256))
      return missing.has(path) && upload_url !== null ? [{ path, sha256, size, upload_url }] : []
    }),
  }
}

/** The artifact, which is made if there is none; locked, so that its versions get their numbers one after the other. */
async function lockedArtifact(
  tx: Tx,
  projectKey: number,
  { name, type }: { name: string; type: string },
  now: Date,
): Promise<number> {
  await tx`/* artifacts.create */
    insert into artifacts (project_key, name, type, created_at) values (${projectKey}, ${name}, ${type}, ${instantOf(now)})
    on conflict (project_key, name) do nothing`
  const [artifact] = await tx<{ key: number; type: string }[]>`/* artifacts.locked */
    select key, type from artifacts where project_key = ${projectKey} and name = ${name} for no key update`
  const { key, type: own } = required(artifact)
  if (own !== type) {
    throw new Problem('artifact_type_mismatch', { detail: `The artifact ${name} has the type ${own}` })
  }
  return key
}

async function versionOf(
  tx: Tx,
  artifactKey: number,
  digest: string,
): Promise<{ key: number; number: number } | undefined> {
  const [version] = await tx<{ key: number; number: number }[]>`/* artifacts.by_digest */
    select key, number from artifact_versions where artifact_key = ${artifactKey} and digest = decode(${digest}, 'hex')`
  return version
}

async function insertVersion(
  tx: Tx,
  actor: Known,
  of: { artifactKey: number; projectKey: number; digest: string },
  { files, metadata, aliases, batchKey, jobId }: WantedArtifact,
  places: ReadonlyMap<string, Place>,
  now: Date,
): Promise<{ key: number; number: number }> {
  const { artifactKey, projectKey, digest } = of
  const size = files.reduce((sum, file) => sum + file.size, 0)
  const [version] = await tx<{ key: number; number: number }[]>`/* artifacts.create_version */
    with numbered as (update artifacts set next_number = next_number + 1 where key = ${artifactKey} returning next_number - 1 as number)
    insert into artifact_versions (artifact_key, number, digest, n_missing, n_files, size, metadata, wanted_aliases,
      batch_key, job_id, created_by, created_at)
    select ${artifactKey}, number, decode(${digest}, 'hex'), ${files.length}, ${files.length}, ${size},
      ${JSON.stringify(metadata)}::text::jsonb, ${[...aliases]}::text[], ${batchKey}::bigint, ${jobId}, ${actor.user.id}, ${instantOf(now)}
    from numbered returning key, number`
  const made = required(version)
  await tx`/* artifacts.create_files */
    insert into artifact_files (version_key, path, project_key, sha256, size, media_type, content_key)
    select ${made.key}, path, ${projectKey}, decode(h, 'hex'), size, media_type, content_key
    from unnest(${files.map((f) => f.path)}::text[], ${files.map((f) => f.sha256)}::text[], ${files.map((f) => f.size)}::bigint[],
      ${files.map((f) => f.mediaType)}::text[], ${files.map((f) => entryOf(places, f.sha256).contentKey)}::bigint[]
    ) as n (path, h, size, media_type, content_key)`
  await countMissing(tx, [made.key], now)
  return made
}

/** Notes a batch that makes a version again, unless it is known as its maker. */
async function addMaker(
  tx: Tx,
  versionKey: number,
  { batchKey, jobId }: WantedArtifact,
  now: Date,
): Promise<void> {
  if (batchKey === null) return
  await tx`/* artifacts.add_maker */
    insert into artifact_makers (version_key, batch_key, job_id, at)
    select key, ${batchKey}::bigint, ${jobId ?? ''}, ${instantOf(now)}::timestamptz from artifact_versions
    where key = ${versionKey} and (batch_key, coalesce(job_id, '')) is distinct from (${batchKey}::bigint, ${jobId ?? ''})
    on conflict do nothing`
}

/** A version that is made again: its aliases move to it, now or when it is ready. */
async function renewFiles(
  tx: Tx,
  version: { key: number; number: number },
  projectKey: number,
  aliases: readonly string[],
  { actor, artifactKey }: { actor: Known; artifactKey: number },
  now: Date,
): Promise<void> {
  await tx`/* artifacts.want_aliases */
    update artifact_versions set wanted_aliases = array(select distinct a from unnest(wanted_aliases || ${[...aliases]}::text[]) as u (a))
    where key = ${version.key} and n_missing > 0`
  await tx`/* artifacts.attach_found */
    update artifact_files f set content_key = c.key from contents c
    where f.version_key = ${version.key} and f.content_key is null and c.project_key = ${projectKey} and c.sha256 = f.sha256`
  await countMissing(tx, [version.key], now)
  const [state] = await tx<{ ready: boolean }[]>`/* artifacts.is_ready */
    select n_missing = 0 ready from artifact_versions where key = ${version.key}`
  if (state?.ready === true)
    await moveAliases(tx, artifactKey, aliases, version, { userId: actor.user.id }, now)
}
