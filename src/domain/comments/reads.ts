import type { Db } from '../../db/sql.ts'
import { type Caller, isAdmin } from '../caller.ts'
import type { Comment } from './comment-fields.ts'
import type { Subject } from './subject.ts'

/** A stored comment with its author. */
export interface CommentRow extends Omit<Comment, 'author' | 'mentions' | 'can_edit' | 'can_delete'> {
  user_id: string
  user_name: string
  /** The ids of the people whom it mentions. */
  mentioned: string[]
}

/**
 * Authors change and delete their comments while they may edit the subject; those who administer the project delete any.
 * No one changes the words of another person.
 * @param people whom the comment may mention, by name
 */
export function commentOf(
  caller: Caller,
  row: CommentRow,
  may: Subject['may'],
  people: readonly { id: string; name: string }[] = [],
): Comment {
  const { user_id: id, user_name: name, mentioned, ...comment } = row
  const isOwn = caller.kind === 'known' && caller.user.id === id
  const knows = isOwn || isAdmin(caller) || may('know_members')
  const canEdit = isOwn && may('edit')
  return {
    ...comment,
    author: knows ? { id, name } : null,
    mentions: knows ? people.flatMap((one) => (mentioned.includes(one.id) ? [one.name] : [])) : [],
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
