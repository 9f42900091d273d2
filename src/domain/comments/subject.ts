import type { Db } from '../../db/sql.ts'
import { callerMay, type Right, visibleBatch } from '../access.ts'
import type { Caller } from '../caller.ts'
import { visibleReport } from '../reports/index.ts'

/** What a comment is about: a batch or a report. */
export interface Subject {
  projectKey: number
  project: string
  /** The id in the API. */
  id: string
  batchKey: number | null
  reportId: string | null
  /** Whose batch or report it is. */
  ownerId: string
  may: (right: Right) => boolean
}

export type SubjectKind = 'batch' | 'report'

/** The batch or report, if the caller sees it. @throws Problem batch_not_found, report_not_found, forbidden */
export async function visibleSubject(
  db: Db,
  caller: Caller,
  kind: SubjectKind,
  id: string,
): Promise<Subject> {
  if (kind === 'batch') {
    const batch = await visibleBatch(db, caller, id)
    const { projectKey, projectSlug: project, key: batchKey, ownerId, may } = batch
    return { projectKey, project, id: batch.id, batchKey, reportId: null, ownerId, may }
  }
  const { project, authorId: ownerId, id: reportId } = await visibleReport(db, caller, id)
  const { key: projectKey, slug, may } = project
  return { projectKey, project: slug, id, batchKey: null, reportId, ownerId, may }
}

/** Facts that what a caller may do with a comment depends on. */
export interface CommentAccess {
  visibility: 'private' | 'public'
  project_owner_id: string
  role: 'member' | 'viewer' | null
}

/** As `Subject.may`, for rows that were read with their projects. A batch's owner edits comments as a member does. */
export const mayWith =
  (caller: Caller, { visibility, project_owner_id: ownerId, role }: CommentAccess, batchOwnerId?: string) =>
  (right: Right): boolean =>
    callerMay(right, caller, { visibility, ownerId, role }, batchOwnerId)
