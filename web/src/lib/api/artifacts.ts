import { get, type Page, put, remove, withQuery } from './request.ts'

export interface Artifact {
  name: string
  type: string
  /** How many. */
  versions: number
  /** Null until a version is ready. */
  latest: string | null
  /** The version of each alias. */
  aliases: Record<string, string>
  size: number
  created_at: string
  updated_at: string
}
export interface ArtifactVersion {
  version: string
  digest: string
  state: 'pending' | 'ready'
  aliases: string[]
  size: number
  /** How many. */
  files: number
  metadata: Record<string, unknown>
  batch_id: string | null
  job_id: string | null
  created_at: string
  created_by: { id: string; name: string } | null
  /** How many. */
  used_by: number
}
export interface ArtifactFile {
  path: string
  sha256: string
  size: number
  media_type: string | null
  uploaded: boolean
  url: string | null
}
export type ArtifactContent = Omit<ArtifactVersion, 'files'> & {
  name: string
  type: string
  files: ArtifactFile[]
}
export interface Lineage {
  artifact: { name: string; version: string }
  made_by: { batch_id: string; job_id: string | null } | null
  used_by: { batch_id: string; job_id: string | null; at: string }[]
  /** What the maker used. */
  inputs: { name: string; version: string }[]
  /** What its users made. */
  outputs: { name: string; version: string; batch_id: string }[]
}
export interface AliasMove {
  alias: string
  version: string | null
  from: string | null
  at: string
  by: { id: string; name: string } | null
  comment: string | null
}

const PAGE = 200
const at = (slug: string, ...parts: string[]): string =>
  ['/api/projects', ...[slug, 'artifacts', ...parts].map(encodeURIComponent)].join('/')

export const fetchArtifacts = (
  slug: string,
  wanted: { type?: string | undefined; q?: string | undefined },
  cursor?: string,
): Promise<Page<Artifact>> => get(at(slug), { ...wanted, limit: PAGE, cursor })
export const fetchArtifact = (
  slug: string,
  name: string,
  cursor?: string,
): Promise<Artifact & Page<ArtifactVersion>> => get(at(slug, name), { limit: PAGE, cursor })
export const fetchVersion = (slug: string, name: string, version: string): Promise<ArtifactContent> =>
  get(at(slug, name, version))
export const fetchLineage = (slug: string, name: string, version: string): Promise<Lineage> =>
  get(`${at(slug, name, version)}/lineage`)
export const fetchAliasMoves = (slug: string, name: string): Promise<Page<AliasMove>> =>
  get(`${at(slug, name)}/aliases/history`, { limit: PAGE })
export const changeAliases = (
  slug: string,
  name: string,
  version: string,
  change: { add?: string[]; remove?: string[]; comment?: string },
): Promise<{ version: string; aliases: string[] }> => put(`${at(slug, name, version)}/aliases`, change)
/** @param force also if batches used it or aliases point to it */
export const deleteVersion = (slug: string, name: string, version: string, force: boolean): Promise<void> =>
  remove(withQuery(at(slug, name, version), { force: force || undefined }))
