import { encodeGlobalID } from '@pothos/plugin-relay'
import type { GraphQLResolveInfo } from 'graphql'
import { sortCursor } from '../domain/cursors.ts'
import { graphqlName } from '../domain/field.ts'
import { JOB_FIELDS, JOB_PARTS, type JobField, type JobPart, jobFields } from '../domain/jobs/index.ts'
import { positionOf } from '../domain/keyset-pages.ts'
import {
  countJobs,
  type FoundKey,
  type JobParents,
  placesOfJobs,
  searchJobKeys,
} from '../domain/lists/index.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { JOB_SERIES } from './costs.ts'
import { declared } from './declared.ts'
import { asksNothing, type JobFilterValue, JobStatusType, jobOrder, jobSearch } from './filters.ts'
import { JobNode, jobsAt, jobsByName, type Share } from './nodes.ts'
import { type Connection, connectionType, pageOf } from './paging.ts'
import { selectedFields } from './selected-fields.ts'
import { EpochRange, keysArg, MetricType, metricsOfJobs, Sampling } from './series.ts'
import { shownSeries, storedNames } from './shared-names.ts'

export const JobType = builder.objectRef<JobNode>('Job')
const nameOf = ({ batch_id, id }: JobNode['row']): string => JSON.stringify([batch_id, id])

builder.node(JobType, {
  description: 'One run within a batch.',
  id: { resolve: ({ row }) => nameOf(row) },
  isTypeOf: (value) => value instanceof JobNode,
  loadMany: (ids, context) => jobsByName(context, ids.map(nameIn)),
  fields: (t) => ({
    id: t.id({
      description: 'Global id of the job, equal to `nodeId`. `jobId` is its name within its batch',
      resolve: ({ row }) => encodeGlobalID('Job', nameOf(row)),
    }),
    ...declared(t, jobFields, { status: JobStatusType }, ({ view }) => view),
    metrics: t.loadableList({
      type: MetricType,
      byPath: true,
      complexity: JOB_SERIES,
      args: {
        keys: t.arg.stringList({ description: 'Names of series. Default: all' }),
        range: t.arg({ type: EpochRange }),
        sampling: t.arg({ type: Sampling, description: 'Default: every point' }),
      },
      validate: keysArg,
      load: async (jobs: JobNode[], context, args) => {
        const sources = jobs.map(({ row }) => row)
        const [first] = jobs
        const asked = first ? await storedNames(context, first.share, first.row.batch_key, args) : args
        const found = await metricsOfJobs(context, sources, asked.keys, asked)
        return jobs.map(({ row, share }) => shownSeries(share, found.get(row.key) ?? []))
      },
      resolve: (job) => job,
    }),
  }),
})

export const JobConnection = connectionType<typeof JobType, JobNode>('Job', JobType, true)

/** The batch or project whose jobs are read. */
export interface JobParent {
  key: number
  share: Share | null
  /** The number of its jobs, if known. */
  total?: number
}

export interface JobArgs {
  first: number
  after?: string | null | undefined
  where?: JobFilterValue | null | undefined
  orderBy?: Parameters<typeof jobOrder>[0]
}

/** A page of jobs for each of these parents: one statement for their keys, one for their rows, and one if they are counted. */
export async function jobPages(
  context: Context,
  column: 'batch_key' | 'project_key',
  parents: readonly JobParent[],
  args: JobArgs,
  info: GraphQLResolveInfo,
): Promise<Connection<JobNode>[]> {
  // All parents of one field of a query are shared, or none is.
  const textless = parents.some(({ share }) => share?.anonymous === true)
  const scope = { column, keys: parents.map(({ key }) => key) }
  const shares = new Map(parents.map(({ key, share }) => [key, share]))
  const pageFor = await readPages(
    context,
    scope,
    column,
    args,
    // An anonymous share hides the same values in every text of a job.
    textless ? WHOLE : selectionOf(info),
    textless,
    (row) => shares.get(row.parent) ?? null,
  )
  return parents.map(({ key, total }) => pageFor(key, asksNothing(args.where) ? total : undefined))
}

/** One page of all jobs in these projects, or of these batches in them. */
export async function jobsTogether(
  context: Context,
  scope: Extract<JobParents, { together: unknown }>,
  args: JobArgs,
  info: GraphQLResolveInfo,
): Promise<Connection<JobNode>> {
  return (await readPages(context, scope, 'together', args, selectionOf(info), false, () => null))(0)
}

/** The columns and related data that are read for each job of a page. */
interface JobSelection {
  parts: readonly JobPart[]
  fields: readonly JobField[]
}

const WHOLE: JobSelection = { parts: JOB_PARTS, fields: JOB_FIELDS }

/** What the selected fields of the jobs of a connection need. */
function selectionOf(info: GraphQLResolveInfo): JobSelection {
  const selected = selectedFields(info, ['edges', 'node'])
  selected.delete('__typename')
  const fields = JOB_FIELDS.filter((field) => selected.delete(graphqlName(field, jobFields[field]) ?? ''))
  const parts = new Set(fields.flatMap((field) => partOf(field) ?? []))
  for (const name of selected) {
    const more = PARTS_OF_OTHERS[name]
    if (more === undefined) return { parts: JOB_PARTS, fields }
    for (const part of more) parts.add(part)
  }
  return { parts: JOB_PARTS.filter((part) => parts.has(part)), fields }
}

const partOf = (name: JobField): JobPart | undefined => {
  const field = jobFields[name]
  return 'part' in field ? field.part : undefined
}

/** The parts of the row that fields outside of the table need; a field that is not listed needs all of it. */
const PARTS_OF_OTHERS: Record<string, readonly JobPart[]> = {
  id: ['batch'],
  nodeId: ['batch'],
  metrics: ['series', 'progress'],
  eta: [],
}

async function readPages(
  context: Context,
  scope: JobParents,
  named: string,
  args: JobArgs,
  { parts, fields }: JobSelection,
  textless: boolean,
  shareOf: (place: FoundKey) => Share | null,
): Promise<(parent: number, total?: number) => Connection<JobNode>> {
  const order = jobOrder(args.orderBy)
  const cursors = sortCursor(JSON.stringify(['jobs', named, order]))
  const search = jobSearch(args.where, textless)
  const after = cursors.read(args.after, 'after')
  const page = { limit: args.first + 1, after }
  const places = await placesOfJobs(context.db, context.caller, scope, search, order)
  const found = args.first === 0 ? [] : await searchJobKeys(context.db, scope, search, order, page, places)
  const pages = await jobsAt(context, found, shareOf, parts, fields)
  let counted: Promise<Map<number, number>> | undefined
  return (parent, total) => {
    const { rows, length } = pages(parent)
    return pageOf(rows, {
      first: args.first,
      found: length,
      after,
      nodeOf: ({ node }) => node,
      cursorOf: ({ place }) => cursors.write(positionOf(place)),
      total: async () => {
        if (total !== undefined) return total
        counted ??= countJobs(context.db, scope, search, places)
        return (await counted).get(parent) ?? 0
      },
      unknown: places.unknown,
    })
  }
}

function nameIn(id: string): { batchId: string; id: string } {
  try {
    const name: unknown = JSON.parse(id)
    if (Array.isArray(name) && typeof name[0] === 'string' && typeof name[1] === 'string')
      return { batchId: name[0], id: name[1] }
  } catch {
    // Not an id of this type, so nothing has it.
  }
  return { batchId: '', id: '' }
}
