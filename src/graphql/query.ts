import { queryFromInfo } from '@pothos/plugin-prisma'
import { z } from 'zod'
import { visibleBatches, visibleProjectKeys } from '../domain/access.ts'
import { cursorOf } from '../domain/cursors.ts'
import { storablePart } from '../domain/storable-text.ts'
import { BatchConnection, BatchType, batchPages, lookedUpIn } from './batch.ts'
import { BatchFilterInput, BatchOrderInput } from './batch-filters.ts'
import { builder } from './builder.ts'
import type { ProjectRow } from './context.ts'
import { connectionCost, LOOKUP } from './costs.ts'
import { JobFilterInput, JobOrderInput } from './filters.ts'
import { JobConnection, JobType, jobPages, jobsTogether } from './job.ts'
import { batchesById, jobsByName, sharedBatch } from './nodes.ts'
import { type Connection, connectionType, pageArgs, pageOf } from './paging.ts'
import { ProjectType, seenOf, visibleOnly } from './project.ts'

const ProjectConnection = connectionType<typeof ProjectType, ProjectRow>('Project', ProjectType)
const projectCursors = cursorOf('projects', z.int32().min(0))

/** The entry points of a query. Only they check what the caller may see; all other objects are reached through them. */

builder.queryFields((t) => ({
  projects: t.field({
    type: ProjectConnection,
    description: 'The projects that you see, newest first',
    complexity: connectionCost,
    args: pageArgs('projects'),
    resolve: async (_root, { first, ...args }, context, info) => {
      const after = projectCursors.read(args.after, 'after')
      const where = await visibleOnly(context)
      const rows =
        first === 0
          ? []
          : await context.prisma.project.findMany({
              ...(queryFromInfo({ context, info, path: ['edges', 'node'] }) as object),
              where,
              orderBy: [{ createdAt: 'desc' }, { key: 'desc' }],
              take: first + 1,
              // A project is never deleted, so its row is there.
              ...(after !== undefined && { cursor: { key: after }, skip: 1 }),
            })
      return pageOf(rows as ProjectRow[], {
        first,
        after,
        nodeOf: (project) => project,
        cursorOf: ({ key }) => projectCursors.write(key),
        total: () => context.prisma.project.count({ where }),
      })
    },
  }),
  project: t.prismaField({
    type: ProjectType,
    nullable: true,
    description: 'Null if there is no such project or you cannot see it',
    complexity: LOOKUP,
    args: { slug: t.arg.string({ required: true }) },
    resolve: async (query, _root, { slug }, context) =>
      context.prisma.project.findFirst({
        ...query,
        where: { slug: storablePart(slug), ...(await visibleOnly(context)) },
      }),
  }),
}))

builder.queryFields((t) => ({
  batches: t.field({
    type: BatchConnection,
    complexity: connectionCost,
    args: {
      ...pageArgs('batches'),
      filter: t.arg({ type: BatchFilterInput }),
      orderBy: t.arg({ type: BatchOrderInput, description: 'Default: newest first' }),
    },
    resolve: async (_root, args, context, info) => {
      const together =
        (args.filter?.project ?? []).length === 0
          ? await context.visibleProjects()
          : await visibleProjectKeys(context.db, context.caller, args.filter?.project ?? [])
      const [page] = await batchPages(context, { together }, args, info)
      return page as Connection<never>
    },
  }),
  batch: t.field({
    type: BatchType,
    nullable: true,
    description: 'Null if there is no such batch or you cannot see it',
    complexity: LOOKUP,
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, context, info) =>
      (await batchesById(context, [id], lookedUpIn(info, [])))[0] ?? null,
  }),
}))

builder.queryFields((t) => ({
  jobs: t.field({
    type: JobConnection,
    complexity: connectionCost,
    description: 'The jobs of all batches that you see',
    args: {
      ...pageArgs('jobs'),
      batches: t.arg.idList({
        description: 'Returns those of these batches that you can see',
        validate: z.array(z.string()).max(500, 'at most 500 batches').nullish() as never,
      }),
      where: t.arg({ type: JobFilterInput }),
      orderBy: t.arg({ type: JobOrderInput, description: 'Default: newest first' }),
    },
    resolve: async (_root, { batches: ids, ...args }, context, info) => {
      const together = await context.visibleProjects()
      if (ids == null) return jobsTogether(context, { together }, args, info)
      const seen = await visibleBatches(context.db, context.caller, ids.map(String))
      const scope = { together: null, batches: seen.map(({ key }) => key) }
      return jobsTogether(context, scope, args, info)
    },
  }),
  job: t.field({
    type: JobType,
    nullable: true,
    complexity: LOOKUP,
    args: { batchId: t.arg.id({ required: true }), id: t.arg.id({ required: true }) },
    resolve: async (_root, name, context) => (await jobsByName(context, [name]))[0] ?? null,
  }),
}))

builder.queryFields((t) => ({
  sharedBatch: t.field({
    type: BatchType,
    nullable: true,
    description: 'The batch that a public link opens; null if the link has expired or was revoked',
    complexity: LOOKUP,
    args: { token: t.arg.string({ required: true }) },
    resolve: (_root, { token }, context) => sharedBatch(context, token),
  }),
  streamCursor: t.string({
    description:
      'The position of this result in the change log: /api/sse?last_event_id=… continues from there without a gap. Changes during the query may appear in both, so merge messages by key.',
    resolve: (_root, _args, { cursor }) => String(cursor),
  }),
}))

builder.prismaObjectFields(ProjectType, (t) => ({
  batches: t.loadable({
    type: BatchConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'Null in a share',
    nullable: true,
    args: {
      ...pageArgs('batches'),
      filter: t.arg({ type: BatchFilterInput, description: '`project` is ignored here' }),
      orderBy: t.arg({ type: BatchOrderInput }),
    },
    load: async (keys: number[], context, args, info) => {
      const seen = await seenOf(context, keys)
      const pages = await batchPages(context, { each: seen }, args, info)
      return keys.map((key) => pages[seen.indexOf(key)] ?? null)
    },
    resolve: ({ key }) => key,
  }),
  jobs: t.loadable({
    type: JobConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'The jobs of all its batches; null in a share',
    nullable: true,
    args: {
      ...pageArgs('jobs'),
      where: t.arg({ type: JobFilterInput }),
      orderBy: t.arg({ type: JobOrderInput }),
    },
    load: async (keys: number[], context, args, info) => {
      const seen = await seenOf(context, keys)
      const parents = seen.map((key) => ({ key, share: null }))
      const pages = await jobPages(context, 'project_key', parents, args, info)
      return keys.map((key) => pages[seen.indexOf(key)] ?? null)
    },
    resolve: ({ key }) => key,
  }),
}))
