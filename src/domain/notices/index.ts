/** The bell: what happened that concerns a person (docs/comments.md). */
export { type Choices, choiceShape, readChoices, writeChoices } from './choices.ts'
export { type Notice, noticeShape } from './notice.ts'
export { countUnread, listNotices, MAX_NOTICES, noticesById } from './reads.ts'
export { markRead, noticeComment, noticeFiring, noticesOf } from './writes.ts'
