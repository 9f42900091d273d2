import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'

/** The alias that moves by itself, to the newest version that is ready. */
export const LATEST = 'latest'

/** Who moved an alias and why; a null user: the service, for `latest`. */
interface Mover {
  userId: string | null
  comment?: string | undefined
}

/**
 * Points aliases to a version, and records each move; those that point to it already stay.
 * @param version null: removes them
 */
export async function moveAliases(
  tx: Tx,
  artifactKey: number,
  aliases: readonly string[],
  version: { key: number; number: number } | null,
  { userId, comment }: Mover,
  now: Date,
): Promise<void> {
  if (aliases.length === 0) return
  const names = [...new Set(aliases)].sort()
  const known = await tx<{ alias: string; number: number }[]>`/* artifacts.aliases_at */
    select a.alias, v.number from artifact_aliases a join artifact_versions v on v.key = a.version_key
    where a.artifact_key = ${artifactKey} and a.alias = any (${names}::text[])`
  const from = new Map(known.map(({ alias, number }) => [alias, number]))
  const moved = names.filter((alias) => (from.get(alias) ?? null) !== (version?.number ?? null))
  if (moved.length === 0) return
  if (version === null) {
    await tx`/* artifacts.remove_aliases */
      delete from artifact_aliases where artifact_key = ${artifactKey} and alias = any (${moved}::text[])`
  } else {
    await tx`/* artifacts.set_aliases */
      insert into artifact_aliases (artifact_key, alias, version_key)
      select ${artifactKey}, a, ${version.key} from unnest(${moved}::text[]) as u (a)
      on conflict (artifact_key, alias) do update set version_key = excluded.version_key`
  }
  await tx`/* artifacts.record_moves */
    insert into artifact_alias_moves (artifact_key, alias, from_number, to_number, moved_by, comment, at)
    select ${artifactKey}, a, f, ${version?.number ?? null}::int, ${userId}::uuid, ${comment ?? null}, ${instantOf(now)}::timestamptz
    from unnest(${moved}::text[], ${moved.map((alias) => from.get(alias) ?? null)}::int[]) as u (a, f)`
}

/** Moves `latest` to the newest ready version; removes it without one. */
export async function moveLatest(tx: Tx, artifactKey: number, now: Date): Promise<void> {
  const [newest] = await tx<{ key: number; number: number }[]>`/* artifacts.newest_ready */
    select key, number from artifact_versions where artifact_key = ${artifactKey} and n_missing = 0
    order by number desc limit 1`
  await moveAliases(tx, artifactKey, [LATEST], newest ?? null, { userId: null }, now)
}
