import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { type AuditEntry, recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { noticeComment, noticesOf } from '../notices/index.ts'
import { enqueueMessage } from '../outbox.ts'
import { type Mentioned, mentionedIn } from './mentions.ts'
import type { Subject } from './subject.ts'

/** Comments on one batch or report, deleted ones included until they are purged. */
const MAX_THERE = 1_000
/** Comments that one person writes in an hour. */
const MAX_PER_HOUR = 120

interface Written {
  /** The id of the comment. */
  result: number
  changes: Change[]
}

/**
 * Writes a comment, and tells the people whom it mentions.
 * @throws Problem forbidden; quota_exceeded for too many comments on the subject, or of the author in the last hour
 */
export async function createComment(
  tx: Tx,
  actor: Known,
  subject: Subject,
  body: string,
  now: Date,
): Promise<Written> {
  if (!subject.may('edit')) throw new Problem('forbidden')
  const at = instantOf(now)
  await requireRoom(tx, actor, subject, at)
  const mentioned = await mentionedIn(tx, subject.projectKey, body)
  const [row] = await tx<{ id: number }[]>`/* comments.create */
    insert into comments (project_key, batch_key, report_id, user_id, body, mentions, created_at)
    values (${subject.projectKey}, ${subject.batchKey}, ${subject.reportId}::uuid, ${actor.user.id}, ${body},
      ${mentioned.map(({ id }) => id)}::uuid[], ${at}) returning id`
  const id = row?.id ?? 0
  const told = await tell(tx, actor, subject, id, mentioned, at)
  const owner = await tellOwner(tx, actor, subject, id, at)
  return {
    result: id,
    changes: [...changesOf(subject, id), ...noticesOf([...told, ...owner])],
  }
}

/** Takes the author's lock, so that of two comments at the same moment the second counts the first. */
async function requireRoom(tx: Tx, actor: Known, subject: Subject, at: string): Promise<void> {
  await tx`/* comments.lock_author */ select from users where id = ${actor.user.id} for no key update`
  const [found] = await tx<{ in_hour: number; there: number }[]>`/* comments.count */
    select (select count(*)::int from comments
        where user_id = ${actor.user.id} and created_at > ${at}::timestamptz - interval '1 hour') in_hour,
      (select count(*)::int from comments c where ${onSubject(tx, subject)}) there`
  if ((found?.in_hour ?? 0) >= MAX_PER_HOUR)
    throw new Problem('too_many_attempts', {
      detail: `One person writes at most ${MAX_PER_HOUR} comments an hour`,
      retryAfterS: 600,
    })
  if ((found?.there ?? 0) >= MAX_THERE)
    throw new Problem('quota_exceeded', {
      detail: `A batch or report has at most ${MAX_THERE.toLocaleString('en')} comments`,
    })
}

/**
 * Changes the text of a comment. Only people whom the earlier text did not mention are told.
 * @throws Problem comment_not_found, forbidden
 */
export async function editComment(
  tx: Tx,
  actor: Known,
  subject: Subject,
  id: number,
  body: string,
  now: Date,
): Promise<Written> {
  const { isOwn, mentions: before } = await locked(tx, actor, subject, id)
  if (!isOwn || !subject.may('edit')) throw new Problem('forbidden')
  const mentioned = await mentionedIn(tx, subject.projectKey, body)
  await tx`/* comments.edit */
    update comments set body = ${body}, mentions = ${mentioned.map((one) => one.id)}::uuid[], edited_at = ${instantOf(now)}
    where id = ${id}`
  const added = mentioned.filter((one) => !before.includes(one.id))
  const told = await tell(tx, actor, subject, id, added, instantOf(now))
  return {
    result: id,
    changes: [...changesOf(subject, id), ...noticesOf(told)],
  }
}

/** Deletes a comment; its text is gone at once. @throws Problem comment_not_found, forbidden */
export async function deleteComment(
  tx: Tx,
  actor: Known,
  subject: Subject,
  id: number,
  now: Date,
): Promise<Change[]> {
  const { isOwn } = await locked(tx, actor, subject, id)
  const canEdit = isOwn && subject.may('edit')
  if (!canEdit && !subject.may('administer')) throw new Problem('forbidden')
  await tx`/* comments.delete */
    update comments set body = '', mentions = '{}', deleted_at = ${instantOf(now)} where id = ${id}`
  if (!canEdit) {
    const of: AuditEntry['subject'] =
      subject.batchKey === null ? `report:${subject.id}` : `batch:${subject.id}`
    await recordAudit(tx, actor, { action: 'comment.deleted', subject: of, detail: { comment: id } }, now)
  }
  return changesOf(subject, id)
}

/**
 * One notice and one mail to each person whom it mentions, if the person wants them. Authors get none of their own words.
 * @returns the ids of the notices
 */
async function tell(
  tx: Tx,
  actor: Known,
  subject: Subject,
  comment: number,
  people: readonly Mentioned[],
  at: string,
): Promise<number[]> {
  const others = people.flatMap(({ id }) => (id === actor.user.id ? [] : [id]))
  for (const person of others)
    await enqueueMessage(tx, { mention: { comment, person } }, { key: `mention:${comment}:${person}` })
  return noticeComment(tx, { kind: 'mention', people: others, subject, comment, at })
}

/** A notice for whose batch or report it is. One person gets one notice of a comment. */
async function tellOwner(
  tx: Tx,
  actor: Known,
  subject: Subject,
  comment: number,
  at: string,
): Promise<number[]> {
  const people = subject.ownerId === actor.user.id ? [] : [subject.ownerId]
  return noticeComment(tx, { kind: 'comment', people, subject, comment, at })
}

/** The comment, locked: whether it is the actor's, and the ids of the people whom it mentions. */
async function locked(tx: Tx, actor: Known, subject: Subject, id: number) {
  const [row] = await tx<{ user_id: string; mentions: string[] }[]>`/* comments.lock */
    select c.user_id, c.mentions from comments c
    where c.id = ${id} and ${onSubject(tx, subject)} and c.deleted_at is null for no key update`
  if (row === undefined) throw new Problem('comment_not_found')
  return { isOwn: row.user_id === actor.user.id, mentions: row.mentions }
}

const onSubject = (db: Db, { batchKey, reportId }: Subject) =>
  batchKey === null ? db`c.report_id = ${reportId}::uuid` : db`c.batch_key = ${batchKey}`

const changesOf = ({ batchKey, id, project }: Subject, comment: number): Change[] =>
  batchKey === null
    ? [{ channel: `project:${project}`, type: 'comments', keys: [comment] }]
    : [{ channel: `batch:${id}`, type: 'comments', batchKey, keys: [comment] }]
