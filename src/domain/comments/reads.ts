import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { type Caller, isAdmin } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { type Comment, commentFields } from './comment-fields.ts'
import type { Subject } from './subject.ts'

const COLUMNS = sqlWords(columnsOf(commentFields, 'c'))

/** A stored comment with its author. */
export interface CommentRow extends Omit<Comment, 'author' | 'mentions' | 'can_edit' | 'can_delete'> {
  user_id: string
  user_name: string
  mentions?: string[]
}

/** The comments on a batch or a report, newest first. */
export async function listComments(
  db: Db,
  caller: Caller,
  subject: Subject,
  { limit, after }: { limit: number; after: number | undefined },
  id?: number,
): Promise<Comment[]> {
  const rows = await db<CommentRow[]>`/* comments.list */
    select ${fragment(db, COLUMNS)}, c.user_id, u.name user_name,
      array(select m.name from users m where m.id = any (c.mentions) order by m.name) mentions
    from comments c join users u on u.id = c.user_id
    where ${subject.batchKey === null ? db`c.report_id = ${subject.reportId}::uuid` : db`c.batch_key = ${subject.batchKey}`}
      and c.deleted_at is null
      and ${after === undefined ? db`true` : db`c.id < ${after}`}
      and ${id === undefined ? db`true` : db`c.id = ${id}`}
    order by c.id desc limit ${limit}`
  return rows.map((row) => commentOf(caller, row, subject.may))
}

/**
 * Authors change and delete their comments while they may edit the subject; those who administer the project delete any.
 * No one changes the words of another person.
 */
export function commentOf(caller: Caller, row: CommentRow, may: Subject['may']): Comment {
  const { user_id: id, user_name: name, mentions = [], ...comment } = row
  const isOwn = caller.kind === 'known' && caller.user.id === id
  const knows = isOwn || isAdmin(caller) || may('know_members')
  const canEdit = isOwn && may('edit')
  return {
    ...comment,
    author: knows ? { id, name } : null,
    mentions: knows ? mentions : [],
    can_edit: canEdit,
    can_delete: canEdit || may('administer'),
  }
}

/** What the stream says of a comment, by id; without its author, whom not all of its readers may know. */
export async function streamedComments(
  db: Db,
  ids: readonly number[],
): Promise<Map<number, StreamedComment>> {
  if (ids.length === 0) return new Map()
  const rows = await db<StreamedComment[]>`/* comments.streamed */
    select c.id, c.report_id, c.body, c.created_at, c.edited_at, c.deleted_at is not null deleted
    from comments c where c.id = any (${[...new Set(ids)]}::bigint[])`
  return new Map(rows.map((row) => [row.id, row]))
}

export interface StreamedComment {
  id: number
  report_id: string | null
  body: string
  created_at: string
  edited_at: string | null
  deleted: boolean
}
