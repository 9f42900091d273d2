import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { visibleProject } from '../access.ts'
import { type Caller, isPerson, type Known } from '../caller.ts'
import { isSender, mayWriteTo } from '../files/index.ts'
import { isStorable } from '../storable-text.ts'

/** The project of artifacts, and what the caller may do there. */
export interface ArtifactProject {
  key: number
  slug: string
  /** Whether the caller may delete versions that other people made. */
  administers: boolean
}

/**
 * The project, if the caller may read its artifacts: its readers, and tokens that send its events, because runs use artifacts.
 * @throws Problem project_not_found, forbidden
 */
export async function artifactProject(db: Db, caller: Caller, slug: string): Promise<ArtifactProject> {
  if (isSender(caller)) return writableArtifactProject(db, caller, slug)
  const { key, slug: name, may } = await visibleProject(db, caller, slug)
  return { key, slug: name, administers: may('administer') }
}

/**
 * The project, if the caller may write its artifacts: its writers, signed in or with a token that sends events.
 * @throws Problem project_not_found; forbidden for readers
 */
export async function writableArtifactProject(db: Db, caller: Known, slug: string): Promise<ArtifactProject> {
  if (!isSender(caller)) {
    const project = await visibleProject(db, caller, slug)
    if (!isPerson(caller) || !project.may('send_events')) throw new Problem('forbidden')
    return { key: project.key, slug: project.slug, administers: project.may('administer') }
  }
  const [project] = isStorable(slug)
    ? await db<{ key: number; slug: string; visible: boolean }[]>`/* artifacts.project */
        select p.key, p.slug, p.visibility = 'public' or p.owner_id = ${caller.user.id}
          or exists (select from project_members m where m.project_key = p.key and m.user_id = ${caller.user.id}) visible
        from projects p where p.slug = ${slug}`
    : []
  if (project === undefined) throw new Problem('project_not_found')
  if (!(await mayWriteTo(db, caller, project.key)))
    throw new Problem(project.visible && caller.via !== 'rerun' ? 'forbidden' : 'project_not_found')
  return { key: project.key, slug: project.slug, administers: false }
}
