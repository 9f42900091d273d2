import { get, type Page, patch, post, remove } from './request.ts'

/** What a comment is about: `batches` or `reports`, and its id. */
export interface CommentSubject {
  of: 'batches' | 'reports'
  id: string
}

export interface Comment {
  id: number
  body: string
  author: { id: string; name: string } | null
  /** The names of the people whom it reached. */
  mentions: string[]
  can_edit: boolean
  can_delete: boolean
  created_at: string
  edited_at: string | null
}

const at = ({ of, id }: CommentSubject): string => `/api/${of}/${encodeURIComponent(id)}/comments`

/** Newest first. */
export const fetchComments = (
  subject: CommentSubject,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Comment>> => get(at(subject), { limit: 50, cursor }, signal)
export const createComment = (subject: CommentSubject, body: string): Promise<Comment> =>
  post(at(subject), { body })
export const editComment = (subject: CommentSubject, id: number, body: string): Promise<Comment> =>
  patch(`${at(subject)}/${id}`, { body })
export const deleteComment = (subject: CommentSubject, id: number): Promise<void> =>
  remove(`${at(subject)}/${id}`)
