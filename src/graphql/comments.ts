import { z } from 'zod'
import {
  type Comment,
  commentFields,
  commentsOfBatches,
  commentsOfReports,
  countOfBatches,
  countOfReports,
} from '../domain/comments/index.ts'
import { cursorOf } from '../domain/cursors.ts'
import type { Report } from '../domain/reports/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { type Connection, connectionType, pageArgs, pageOf } from './paging.ts'
import { PersonType } from './person.ts'
import { ReportType } from './written.ts'

/** Comments on batches and reports; the same as in REST. */

const CommentType = builder.objectRef<Comment>('Comment')
builder.objectType(CommentType, {
  description: 'A comment on a batch or a report, in Markdown.',
  fields: (t) => declared(t, commentFields, { author: PersonType }, (comment) => comment),
})
const CommentConnection = connectionType<typeof CommentType, Comment>('Comment', CommentType)
const cursors = cursorOf('comments', z.int().min(0))

interface Wanted {
  first: number
  after?: string | null | undefined
}

/** A page of each of these subjects: one statement for the comments, and one for the counts if they are selected. */
async function pagesOf<Id>(
  ids: readonly Id[],
  { first, after: text }: Wanted,
  read: (page: { limit: number; after: number | undefined }) => Promise<Map<Id, Comment[]>>,
  count: () => Promise<Map<Id, number>>,
): Promise<Connection<Comment>[]> {
  const after = cursors.read(text, 'after')
  const pages = first === 0 ? new Map<Id, Comment[]>() : await read({ limit: first + 1, after })
  let counts: Promise<Map<Id, number>> | undefined
  return ids.map((id) =>
    pageOf<Comment, Comment>(pages.get(id) ?? [], {
      first,
      after,
      nodeOf: (comment) => comment,
      cursorOf: (comment) => cursors.write(comment.id),
      total: async () => {
        counts ??= count()
        return (await counts).get(id) ?? 0
      },
    }),
  )
}

builder.objectField(BatchType, 'comments', (t) =>
  t.loadable({
    type: CommentConnection,
    byPath: true,
    nullable: true,
    complexity: connectionCost,
    description: 'Comments on it, newest first. Null in a share',
    args: pageArgs('comments'),
    load: async (batches: BatchNode[], { prisma, caller }, args) => {
      const keys = batches.flatMap(({ row, share }) => (share === null ? [row.key] : []))
      const pages = await pagesOf(
        keys,
        args,
        (page) => commentsOfBatches(prisma, caller, keys, page),
        () => countOfBatches(prisma, keys),
      )
      const byKey = new Map(keys.map((key, i) => [key, pages[i]]))
      return batches.map(({ row, share }) => (share === null ? (byKey.get(row.key) ?? null) : null))
    },
    resolve: (batch) => batch,
  }),
)

builder.objectField(ReportType, 'comments', (t) =>
  t.loadable({
    type: CommentConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'Comments on it, newest first',
    args: pageArgs('comments'),
    load: (reports: Report[], { prisma, caller }, args) => {
      const ids = reports.map(({ id }) => id)
      return pagesOf(
        ids,
        args,
        (page) => commentsOfReports(prisma, caller, ids, page),
        () => countOfReports(prisma, ids),
      )
    },
    resolve: (report) => report,
  }),
)
