import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type CommentSubject, createComment, fetchComments } from '../lib/api/comments.ts'
import { errorText } from '../lib/api/request.ts'
import { useChannel } from '../lib/live/stream.ts'
import { membersQuery } from '../lib/project-queries.ts'
import { useMe } from '../lib/queries.ts'
import { invalidateQueries } from '../lib/query-client.ts'
import { Button } from '../ui/controls.tsx'
import { Failure, Waiting } from '../ui/notice.tsx'
import { CommentForm } from './comment-form.tsx'
import { OneComment } from './one-comment.tsx'

const keyOf = ({ of, id }: CommentSubject) => ['comments', of, id]

/** The comments on a batch or a report, oldest first, and a form for the next one. New ones appear live. */
export function Comments(props: { subject: CommentSubject; project: string; mayWrite: boolean }) {
  const { subject, project, mayWrite } = props
  const me = useMe()
  const refresh = (): Promise<void> => invalidateQueries({ queryKey: keyOf(subject) })
  const comments = useInfiniteQuery({
    queryKey: keyOf(subject),
    queryFn: ({ pageParam, signal }) => fetchComments(subject, pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
  })
  // Read by members alone; without it nothing is suggested.
  const members = useQuery({ ...membersQuery(project), enabled: mayWrite, retry: false })
  useChannel(
    me
      ? `${subject.of === 'batches' ? 'batch' : 'project'}:${subject.of === 'batches' ? subject.id : project}`
      : null,
    ({ comments: changed }) => {
      if (changed !== undefined) void refresh()
    },
  )
  if (comments.data === undefined)
    return comments.error ? <Failure>{errorText(comments.error)}</Failure> : <Waiting rows={3} />
  const shown = comments.data.pages.flatMap(({ items }) => items).toReversed()
  const names = members.data?.items.map(({ name }) => name) ?? []
  return (
    <div className="flex max-w-3xl flex-col gap-3">
      {comments.hasNextPage && (
        <Button
          className="self-start"
          disabled={comments.isFetchingNextPage}
          onClick={() => void comments.fetchNextPage()}
        >
          Earlier comments
        </Button>
      )}
      {shown.length === 0 && (
        <p className="text-muted">
          {mayWrite ? 'No comments yet. Say what you see, and mention people with @.' : 'No comments yet.'}
        </p>
      )}
      <ol aria-label="Comments" className="flex flex-col gap-3">
        {shown.map((comment) => (
          <OneComment key={comment.id} comment={comment} subject={subject} names={names} onChange={refresh} />
        ))}
      </ol>
      {mayWrite && (
        <CommentForm
          label="New comment"
          action="Comment"
          names={names}
          onSave={async (body) => {
            await createComment(subject, body)
            await refresh()
          }}
        />
      )}
      {me === null && <p className="text-muted">Sign in to comment.</p>}
    </div>
  )
}
