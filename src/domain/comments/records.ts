import type { PrismaClient } from '../../db/prisma.ts'
import { type Caller, NO_USER } from '../caller.ts'
import { recordRows } from '../record-rows.ts'
import { type Comment, commentFields } from './comment-fields.ts'
import { type CommentRow, commentOf } from './reads.ts'
import { type CommentAccess, mayWith, type Subject } from './subject.ts'

/** Comments of many batches or reports, in one statement, and of one with the names that they mention. */

const record = recordRows<CommentRow>(commentFields, {
  user_id: { from: 'userId' },
  user_name: { from: 'user.name' },
  mentioned: { from: 'mentions' },
})

interface Page {
  limit: number
  after: number | undefined
  /** The comment of this id only. */
  id?: number
}

/** The comments on a batch or a report, newest first. */
export async function listComments(
  prisma: PrismaClient,
  caller: Caller,
  { batchKey, reportId, may }: Subject,
  page: Page,
): Promise<Comment[]> {
  const { where, ...wanted } = commentsOn(page)
  const found = await prisma.comment.findMany({
    where: { ...(batchKey === null ? { reportId } : { batchKey }), AND: where },
    ...wanted,
  })
  const rows = found.map(record.rowOf)
  const people = await prisma.user.findMany({
    where: { id: { in: rows.flatMap((row) => row.mentioned) } },
    select: { id: true, name: true },
    orderBy: { name: 'asc' },
  })
  return rows.map((row) => commentOf(caller, row, may, people))
}

/** The newest comments on each of these batches, by the batch's key. */
export async function commentsOfBatches(
  prisma: PrismaClient,
  caller: Caller,
  keys: readonly number[],
  page: Page,
): Promise<Map<number, Comment[]>> {
  const found = await prisma.batch.findMany({
    where: { key: { in: [...keys] } },
    relationLoadStrategy: 'join',
    select: { key: true, ownerId: true, project: projectOf(caller), comments: commentsOn(page) },
  })
  return new Map(
    found.map(({ key, ownerId, project, comments }) => [
      Number(key),
      viewsOf(caller, comments, mayWith(caller, accessOf(project), ownerId)),
    ]),
  )
}

/** The newest comments on each of these reports, by the report's id. */
export async function commentsOfReports(
  prisma: PrismaClient,
  caller: Caller,
  ids: readonly string[],
  page: Page,
): Promise<Map<string, Comment[]>> {
  const found = await prisma.report.findMany({
    where: { id: { in: [...ids] } },
    relationLoadStrategy: 'join',
    select: { id: true, project: projectOf(caller), comments: commentsOn(page) },
  })
  return new Map(
    found.map(({ id, project, comments }) => [
      id,
      viewsOf(caller, comments, mayWith(caller, accessOf(project))),
    ]),
  )
}

/** How many comments each of these batches has. */
export async function countOfBatches(
  prisma: PrismaClient,
  keys: readonly number[],
): Promise<Map<number, number>> {
  const counts = await prisma.comment.groupBy({
    by: ['batchKey'],
    where: { batchKey: { in: [...keys] }, deletedAt: null },
    _count: true,
  })
  return new Map(counts.map(({ batchKey, _count }) => [Number(batchKey), _count]))
}

/** How many comments each of these reports has. */
export async function countOfReports(
  prisma: PrismaClient,
  ids: readonly string[],
): Promise<Map<string, number>> {
  const counts = await prisma.comment.groupBy({
    by: ['reportId'],
    where: { reportId: { in: [...ids] }, deletedAt: null },
    _count: true,
  })
  return new Map(counts.map(({ reportId, _count }) => [reportId ?? '', _count]))
}

const commentsOn = ({ limit, after, id }: Page) => ({
  where: {
    deletedAt: null,
    AND: [after === undefined ? {} : { id: { lt: after } }, id === undefined ? {} : { id }],
  },
  select: record.select,
  orderBy: { id: 'desc' as const },
  take: limit,
})

/** The project, with the membership of the caller. */
const projectOf = (caller: Caller) => ({
  select: {
    visibility: true,
    ownerId: true,
    members: {
      where: { userId: caller.kind === 'known' ? caller.user.id : NO_USER },
      select: { role: true },
    },
  },
})

const accessOf = (project: { visibility: string; ownerId: string; members: { role: string }[] }) =>
  ({
    visibility: project.visibility,
    project_owner_id: project.ownerId,
    role: project.members[0]?.role ?? null,
  }) as CommentAccess

const viewsOf = (caller: Caller, found: readonly object[], may: ReturnType<typeof mayWith>): Comment[] =>
  found.map((one) => commentOf(caller, record.rowOf(one), may))
