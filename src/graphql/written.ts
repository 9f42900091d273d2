import { z } from 'zod'
import { createdAtOf, creationPosition, cursorOf } from '../domain/cursors.ts'
import {
  countFirings,
  type DeliveryView,
  type FiringWithMessages,
  firingFields,
  firingsOfRules,
  type Rule,
  ruleMessageFields,
} from '../domain/notifications/index.ts'
import { countReports, listReports, type Report, reportById, reportFields } from '../domain/reports/index.ts'
import { storablePart } from '../domain/storable-text.ts'
import { countSavedViews, listSavedViews, type SavedView, savedViewFields } from '../domain/views/index.ts'
import { RuleType } from './administered.ts'
import { builder } from './builder.ts'
import { connectionCost, LOOKUP } from './costs.ts'
import { declared } from './declared.ts'
import { connectionType, pageArgs, pageOf } from './paging.ts'
import { PersonType } from './person.ts'
import { selectedFields } from './selected-fields.ts'

/** Reports, saved views and the firings of rules: what people wrote, and what their rules sent; the same as in REST. */

const slugOf = (slug: string | null | undefined): string | undefined =>
  slug == null ? undefined : storablePart(slug)

export const ReportType = builder.objectRef<Report>('Report')
builder.objectType(ReportType, {
  description: 'A text with embedded runs, charts and tables (docs/api.md).',
  fields: (t) => declared(t, reportFields, { owner: PersonType }, (report) => report),
})
const ReportConnection = connectionType<typeof ReportType, Report>('Report', ReportType)
const reportCursors = cursorOf('reports', creationPosition)

builder.queryFields((t) => ({
  reports: t.field({
    type: ReportConnection,
    complexity: connectionCost,
    description: 'The reports of the projects that you see, newest first',
    args: {
      ...pageArgs('reports'),
      project: t.arg.string({ description: 'Slug: the reports of this project only' }),
    },
    resolve: async (_root, { first, project, ...args }, context, info) => {
      const { prisma, caller } = context
      const after = reportCursors.read(args.after, 'after')
      const scope = { visible: await context.visibleProjects(), project: slugOf(project) }
      const withBody = selectedFields(info, ['edges', 'node']).has('body')
      const rows =
        first === 0 ? [] : await listReports(prisma, caller, scope, { limit: first + 1, after, withBody })
      return pageOf(rows, {
        first,
        after,
        nodeOf: (report) => report,
        cursorOf: (report) => reportCursors.write(createdAtOf(report)),
        total: () => countReports(prisma, scope),
      })
    },
  }),
  report: t.field({
    type: ReportType,
    nullable: true,
    complexity: LOOKUP,
    description: 'Null if there is no such report or you cannot see it',
    args: { id: t.arg.id({ required: true, description: 'The id of the report' }) },
    resolve: async (_root, { id }, context) => {
      const scope = { visible: await context.visibleProjects(), id: String(id) }
      return (await reportById(context.prisma, context.caller, scope)) ?? null
    },
  }),
}))

const SavedViewType = builder.objectRef<SavedView>('SavedView')
builder.objectType(SavedViewType, {
  description: 'A saved page URL with a name.',
  fields: (t) => declared(t, savedViewFields, { owner: PersonType }, (view) => view),
})
const SavedViewConnection = connectionType<typeof SavedViewType, SavedView>('SavedView', SavedViewType)
const viewCursors = cursorOf('views', creationPosition)

builder.queryField('savedViews', (t) =>
  t.field({
    type: SavedViewConnection,
    complexity: connectionCost,
    description: 'Your saved views, and those for projects that you see, newest first',
    args: {
      ...pageArgs('views'),
      project: t.arg.string({ description: 'Slug: the views of this project only' }),
    },
    resolve: async (_root, { first, project, ...args }, context) => {
      const { prisma, caller } = context
      const after = viewCursors.read(args.after, 'after')
      const scope = { visible: await context.visibleProjects(), project: slugOf(project) }
      const rows = first === 0 ? [] : await listSavedViews(prisma, caller, scope, { limit: first + 1, after })
      return pageOf(rows, {
        first,
        after,
        nodeOf: (view) => view,
        cursorOf: (view) => viewCursors.write(createdAtOf(view)),
        total: () => countSavedViews(prisma, caller, scope),
      })
    },
  }),
)

const RuleMessageType = builder.objectRef<DeliveryView>('RuleMessage')
builder.objectType(RuleMessageType, {
  description: 'A message of a rule to one address or channel, and its attempts.',
  fields: (t) => declared(t, ruleMessageFields, {}, (message) => message),
})
const FiringType = builder.objectRef<FiringWithMessages>('Firing')
builder.objectType(FiringType, {
  description: 'An event that made a rule fire.',
  fields: (t) => ({
    ...declared(t, firingFields, {}, (firing) => firing),
    messages: t.field({
      type: [RuleMessageType],
      description: 'One for each address and channel',
      resolve: ({ messages }) => messages,
    }),
  }),
})
const FiringConnection = connectionType<typeof FiringType, FiringWithMessages>('Firing', FiringType)
const firingCursors = cursorOf('firings', z.int().min(0))

// A rule is reached only by those who administer its project.
builder.objectField(RuleType, 'firings', (t) =>
  t.loadable({
    type: FiringConnection,
    byPath: true,
    complexity: connectionCost,
    description: 'Its firings with their messages, newest first',
    args: pageArgs('firings'),
    load: async (rules: Rule[], { prisma }, { first, ...args }) => {
      const after = firingCursors.read(args.after, 'after')
      const ids = rules.map(({ id }) => id)
      const pages = first === 0 ? new Map() : await firingsOfRules(prisma, ids, { limit: first + 1, after })
      let counts: Promise<Map<string, number>> | undefined
      return ids.map((id) =>
        pageOf<FiringWithMessages, FiringWithMessages>(pages.get(id) ?? [], {
          first,
          after,
          nodeOf: (firing) => firing,
          cursorOf: (firing) => firingCursors.write(firing.id),
          total: async () => {
            counts ??= countFirings(prisma, ids)
            return (await counts).get(id) ?? 0
          },
        }),
      )
    },
    resolve: (rule) => rule,
  }),
)
