import { z } from 'zod'
import { groupValueOf } from '../domain/lists/index.ts'
import {
  clipFields,
  clipsOfBatches,
  type GroupView,
  groupFields,
  groupView,
  type NamedClip,
  readGroupsOfBatches,
} from '../domain/metrics/index.ts'
import { isStorable } from '../domain/storable-text.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import type { Context } from './context.ts'
import { BATCH_SERIES } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { drawingOf, EpochRange, Sampling, spend } from './series.ts'
import { storedNames } from './shared-names.ts'

/** Series of a batch by groups of jobs, and the range of the y-axis without outliers; the same as in REST. */

const GroupType = builder.objectRef<GroupView>('MetricGroup')
builder.objectType(GroupType, {
  description: 'One series aggregated over all jobs that share a value, in buckets of the x-axis.',
  fields: (t) => declared(t, groupFields, {}, (group) => group),
})

const ClipType = builder.objectRef<NamedClip>('MetricClip')
builder.objectType(ClipType, {
  description: 'The part of the y-axis without a share of the points at either end.',
  fields: (t) => declared(t, clipFields, {}, (clip) => clip),
})

const named = {
  keys: z.array(z.string().max(1024)).max(1_000).nullish(),
  jobs: z.array(z.string().max(512)).max(5_000).nullish(),
}
const storable = (names: readonly string[] | null | undefined): string[] | undefined =>
  names?.filter(isStorable)

/** A query opens at most one batch through a share. */
async function askedOf<Args extends Parameters<typeof storedNames>[3]>(
  context: Context,
  [first]: readonly BatchNode[],
  args: Args,
): Promise<Args> {
  return first === undefined ? args : await storedNames(context, first.share, first.row.key, args)
}
const keysOf = (batches: readonly BatchNode[]): number[] => batches.map(({ row }) => row.key)

builder.objectFields(BatchType, (t) => ({
  metricGroups: t.loadableList({
    type: GroupType,
    byPath: true,
    complexity: BATCH_SERIES,
    description: 'Over every point of every job of the group: `sampling.points` is the number of buckets',
    args: {
      groupBy: t.arg.string({
        required: true,
        description: 'A name as in queries: a field, a parameter, a value of the configuration or a metric',
      }),
      keys: t.arg.stringList(),
      jobs: t.arg.idList(),
      range: t.arg({ type: EpochRange }),
      sampling: t.arg({ type: Sampling }),
    },
    validate: z.looseObject({
      ...named,
      groupBy: z
        .string()
        .refine((text) => isStorable(text) && groupValueOf(text) !== undefined, 'names nothing to group by'),
    }),
    load: async (batches: BatchNode[], context, given) => {
      const args = await askedOf(context, batches, given)
      const groupBy = groupValueOf(args.groupBy, batches[0]?.share?.anonymous)
      if (groupBy === undefined) throw new TypeError('the arguments were not validated')
      const found = await readGroupsOfBatches(context.db, keysOf(batches), {
        ...drawingOf(args),
        keys: storable(args.keys),
        jobs: storable(args.jobs),
        groupBy,
      })
      return batches.map(({ row, share }) => {
        const groups = (found.get(row.key) ?? []).map(groupView)
        spend(
          context,
          groups.reduce((sum, { n }) => sum + n.length, 0),
        )
        return share === null
          ? groups
          : groups.map((one) => ({ ...one, group: share.text(one.group), key: share.name(one.key) }))
      })
    },
    resolve: (batch) => batch,
  }),
  metricClips: t.loadableList({
    type: ClipType,
    byPath: true,
    complexity: BATCH_SERIES,
    args: {
      keys: t.arg.stringList({ required: true, description: 'At most 16' }),
      jobs: t.arg.idList(),
      range: t.arg({ type: EpochRange }),
      sampling: t.arg({ type: Sampling }),
      share: t.arg.float({ required: true, description: 'Above 0 and below 0.5' }),
    },
    validate: z.looseObject({
      ...named,
      keys: z.array(z.string().max(1024)).max(16),
      share: z.number().gt(0).lt(0.5),
    }),
    load: async (batches: BatchNode[], context, given) => {
      const args = await askedOf(context, batches, given)
      const query = { ...drawingOf(args), keys: storable(args.keys), jobs: storable(args.jobs) }
      const found = await clipsOfBatches(context.db, keysOf(batches), query, args.share)
      return batches.map(({ row, share }) => {
        const clips = found.get(row.key) ?? []
        return share === null ? clips : clips.map((one) => ({ ...one, key: share.name(one.key) }))
      })
    },
    resolve: (batch) => batch,
  }),
}))
