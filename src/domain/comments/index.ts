/** Comments on batches and reports, with mentions (docs/comments.md). */
export { type Comment, commentFields, MAX_COMMENT } from './comment-fields.ts'
export { type MentionFacts, readMention } from './mention-mail.ts'
export { type StreamedComment, streamedComments } from './reads.ts'
export {
  commentsOfBatches,
  commentsOfReports,
  countOfBatches,
  countOfReports,
  listComments,
} from './records.ts'
export { type Subject, type SubjectKind, visibleSubject } from './subject.ts'
export { createComment, deleteComment, editComment } from './writes.ts'
