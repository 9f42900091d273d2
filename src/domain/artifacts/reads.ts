import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { type Content, shownType } from '../files/index.ts'
import { isStorable } from '../storable-text.ts'
import type { AliasMove, ArtifactFile, ArtifactSummary, VersionView } from './artifact-fields.ts'
import { versionNumber } from './reference.ts'

/** A version with its keys. */
export interface FoundVersion {
  key: number
  number: number
  artifactKey: number
  name: string
  type: string
  ready: boolean
  createdBy: string | null
}

interface SummaryRow extends Omit<ArtifactSummary, 'latest' | 'aliases'> {
  aliases: Record<string, string> | null
}

const summaryOf = ({ aliases, ...row }: SummaryRow): ArtifactSummary => ({
  ...row,
  latest: aliases?.latest ?? null,
  aliases: aliases ?? {},
})

/** The artifacts of a project that have versions, by name. */
export async function listArtifacts(
  db: Db,
  projectKey: number,
  filter: {
    name?: string | undefined
    type?: string | undefined
    q?: string | undefined
    after?: string | undefined
    limit: number
  },
): Promise<ArtifactSummary[]> {
  const { name, type, q, after, limit } = filter
  if (![name, type, q].every((text) => isStorable(text ?? ''))) return []
  const rows = await db<SummaryRow[]>`/* artifacts.list */
    select a.name, a.type, v.versions, v.size, a.created_at, v.updated_at, l.aliases
    from artifacts a
    cross join lateral (
      select count(*) versions, max(created_at) updated_at, (array_agg(size order by number desc))[1] size
      from artifact_versions where artifact_key = a.key) v
    cross join lateral (
      select json_object_agg(s.alias, 'v' || n.number order by s.alias) aliases
      from artifact_aliases s join artifact_versions n on n.key = s.version_key where s.artifact_key = a.key) l
    where a.project_key = ${projectKey} and v.versions > 0
      and ${name === undefined ? db`true` : db`a.name = ${name}`}
      and ${type === undefined ? db`true` : db`a.type = ${type}`}
      and ${q === undefined ? db`true` : db`strpos(lower(a.name), lower(${q})) > 0`}
      and ${after === undefined ? db`true` : db`a.name > ${after}`}
    order by a.name limit ${limit}`
  return rows.map(summaryOf)
}

/** @throws Problem artifact_not_found */
export async function artifactNamed(db: Db, projectKey: number, name: string): Promise<ArtifactSummary> {
  const [artifact] = await listArtifacts(db, projectKey, { name, limit: 1 })
  if (artifact === undefined) throw new Problem('artifact_not_found')
  return artifact
}

/** The versions of an artifact, newest first; or one of them. */
export async function listVersions(
  db: Db,
  projectKey: number,
  name: string,
  page: { before?: number | undefined; number?: number; limit: number },
): Promise<(VersionView & { number: number })[]> {
  const { before, number, limit } = page
  return db<(VersionView & { number: number })[]>`/* artifacts.versions */
    select v.number, 'v' || v.number as version, encode(v.digest, 'hex') digest,
      case when v.n_missing = 0 then 'ready' else 'pending' end state,
      array(select s.alias from artifact_aliases s where s.version_key = v.key order by s.alias) aliases,
      v.size, v.n_files files, v.metadata, b.id batch_id, v.job_id, v.created_at,
      case when u.id is null then null else json_build_object('id', u.id, 'name', u.name) end created_by,
      (select count(distinct s.batch_key) from artifact_uses s join batches ub on ub.key = s.batch_key
        where s.version_key = v.key and ub.purged_at is null and ub.deleted_at is null) used_by
    from artifacts a join artifact_versions v on v.artifact_key = a.key
    left join batches b on b.key = v.batch_key and b.purged_at is null and b.deleted_at is null
    left join users u on u.id = v.created_by
    where a.project_key = ${projectKey} and a.name = ${name}
      and ${before === undefined ? db`true` : db`v.number < ${before}::int`}
      and ${number === undefined ? db`true` : db`v.number = ${number}::int`}
    order by v.number desc limit ${limit}`
}

/**
 * The version that a number such as `v3` or an alias names.
 * @throws Problem artifact_not_found
 */
export async function findVersion(
  db: Db,
  projectKey: number,
  name: string,
  reference: string,
): Promise<FoundVersion> {
  const number = versionNumber(reference)
  const [version] = [name, reference].every(isStorable)
    ? await db<FoundVersion[]>`/* artifacts.find_version */
        select v.key, v.number, a.key "artifactKey", a.name, a.type, v.n_missing = 0 ready, v.created_by "createdBy"
        from artifacts a join artifact_versions v on v.artifact_key = a.key
        where a.project_key = ${projectKey} and a.name = ${name} and ${
          number === undefined
            ? db`v.key = (select s.version_key from artifact_aliases s where s.artifact_key = a.key and s.alias = ${reference})`
            : db`v.number = ${number}::int`
        }`
    : []
  if (version === undefined) throw new Problem('artifact_not_found')
  return version
}

/** The files of a version, by path. */
export async function filesOfVersion(db: Db, versionKey: number): Promise<ArtifactFile[]> {
  const rows = await db<
    (Omit<ArtifactFile, 'media_type'> & { by_content: string | null; declared: string | null })[]
  >`/* artifacts.files */
    select f.path, encode(f.sha256, 'hex') sha256, f.size, f.content_key is not null uploaded, c.media_type by_content,
      f.media_type declared
    from artifact_files f left join contents c on c.key = f.content_key
    where f.version_key = ${versionKey} order by f.path`
  return rows.map(({ by_content, declared, ...file }) => ({
    ...file,
    media_type: shownType(by_content, declared),
  }))
}

/** @throws Problem file_not_found */
export async function contentOfArtifact(db: Db, versionKey: number, path: string): Promise<Content> {
  const [content] = isStorable(path)
    ? await db<Content[]>`/* artifacts.find_file */
        select encode(c.sha256, 'hex') sha256, c.size, c.object, c.media_type "mediaType"
        from artifact_files f join contents c on c.key = f.content_key
        where f.version_key = ${versionKey} and f.path = ${path}`
    : []
  if (content === undefined) throw new Problem('file_not_found')
  return content
}

/** The moves of an artifact's aliases, newest first. */
export const listMoves = (
  db: Db,
  projectKey: number,
  name: string,
  page: { before: number | undefined; limit: number },
): Promise<(AliasMove & { id: number })[]> => db<(AliasMove & { id: number })[]>`/* artifacts.moves */
  select m.id, m.alias, 'v' || m.to_number as version, 'v' || m.from_number as "from", m.at,
    case when u.id is null then null else json_build_object('id', u.id, 'name', u.name) end "by", m.comment
  from artifacts a join artifact_alias_moves m on m.artifact_key = a.key
  left join users u on u.id = m.moved_by
  where a.project_key = ${projectKey} and a.name = ${name}
    and ${page.before === undefined ? db`true` : db`m.id < ${page.before}::bigint`}
  order by m.id desc limit ${page.limit}`
