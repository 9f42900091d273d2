import { useState } from 'react'
import { type Comment, type CommentSubject, deleteComment, editComment } from '../lib/api/comments.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Button } from '../ui/controls.tsx'
import { Markdown } from '../ui/markdown.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { CommentForm } from './comment-form.tsx'

/** A comment with its author, and what the user may do with it. */
export function OneComment(props: {
  comment: Comment
  subject: CommentSubject
  names: readonly string[]
  onChange: () => Promise<void>
}) {
  const { comment, subject, names, onChange } = props
  const [open, setOpen] = useState<'edit' | 'delete' | null>(null)
  const close = (): void => setOpen(null)
  return (
    <li
      id={`comment-${comment.id}`}
      aria-label={`Comment by ${comment.author?.name ?? 'someone'}`}
      className="group flex flex-col gap-1 rounded-md border border-line px-3 py-2"
    >
      <Head comment={comment} isEditing={open === 'edit'} onOpen={setOpen} />
      {open === 'edit' ? (
        <CommentForm
          label="Your comment"
          action="Save"
          text={comment.body}
          names={names}
          onCancel={close}
          onSave={async (body) => {
            await editComment(subject, comment.id, body)
            await onChange()
            close()
          }}
        />
      ) : (
        <Markdown text={comment.body} />
      )}
      {comment.mentions.length > 0 && open !== 'edit' && (
        <p className="text-xs text-muted">Mentions {comment.mentions.join(', ')}</p>
      )}
      {open === 'delete' && (
        <Confirm
          title="Delete the comment?"
          yes="Delete"
          no="Keep"
          danger
          run={() => deleteComment(subject, comment.id).then(onChange)}
          onClose={close}
        >
          Its text is deleted at once and cannot be restored.
        </Confirm>
      )}
    </li>
  )
}

/** Who wrote a comment and when, and the buttons that change it. */
function Head(props: { comment: Comment; isEditing: boolean; onOpen: (part: 'edit' | 'delete') => void }) {
  const { comment, isEditing, onOpen } = props
  return (
    <div className="flex min-h-7 flex-wrap items-center gap-x-2 text-xs text-muted">
      <span className="text-sm font-medium text-ink">{comment.author?.name ?? 'Someone'}</span>
      <RelativeTime at={comment.created_at} />
      {comment.edited_at !== null && (
        <span>
          · edited <RelativeTime at={comment.edited_at} />
        </span>
      )}
      <span className="flex-1" />
      {!isEditing && (
        <span className="flex gap-1 opacity-0 group-focus-within:opacity-100 group-hover:opacity-100 pointer-coarse:opacity-100">
          {comment.can_edit && (
            <Button look="quiet" onClick={() => onOpen('edit')}>
              Edit
            </Button>
          )}
          {comment.can_delete && (
            <Button look="quiet" aria-haspopup="dialog" onClick={() => onOpen('delete')}>
              Delete
            </Button>
          )}
        </span>
      )}
    </div>
  )
}
