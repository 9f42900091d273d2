import { z } from 'zod'
import { callerMay } from '../domain/access.ts'
import { type AuditFilter, type AuditRecord, auditFields, countAudit, listAudit } from '../domain/audit.ts'
import { isPerson, NO_USER } from '../domain/caller.ts'
import { cursorOf } from '../domain/cursors.ts'
import { mutedAmong, type Rule, ruleFields, rulesOfProjects } from '../domain/notifications/index.ts'
import { storablePart } from '../domain/storable-text.ts'
import { listTokens, type TokenView, tokenFields } from '../domain/tokens/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { administeredOf } from './context.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { connectionType, MAX_PAGE_SIZE, pageArgs, pageOf } from './paging.ts'
import { PersonType, ViewerType } from './person.ts'
import { ProjectType } from './project.ts'

/**
 * Rules, mutes, tokens and the audit log: visible only to signed-in administrators of the project or service; the same
 * as in REST.
 */

export const RuleType = builder.objectRef<Rule>('Rule')
builder.objectType(RuleType, {
  description: 'A rule for notifications (docs/notifications.md).',
  fields: (t) => declared(t, ruleFields, {}, (rule) => rule),
})

const RulesType = builder.objectRef<{ items: Rule[] }>('ProjectRules')
builder.objectType(RulesType, {
  fields: (t) => ({
    items: t.field({
      type: [RuleType],
      description: 'The newest 500, newest first',
      resolve: ({ items }) => items,
    }),
    mailConfigured: t.boolean({
      description: 'False: no mail server is configured, so mail is only logged',
      resolve: (_rules, _args, { mailConfigured }) => mailConfigured,
    }),
  }),
})

builder.prismaObjectFields(ProjectType, (t) => ({
  rules: t.loadable({
    type: RulesType,
    byPath: true,
    nullable: true,
    complexity: DERIVED,
    description: 'Null for callers who do not administer the project',
    load: async (keys: number[], context) => {
      const found = await rulesOfProjects(
        context.prisma,
        await administeredOf(context, keys),
        MAX_PAGE_SIZE.rules,
      )
      return keys.map((key) => {
        const items = found.get(key)
        return items === undefined ? null : { items }
      })
    },
    resolve: ({ key }) => key,
  }),
}))

builder.objectField(BatchType, 'muted', (t) =>
  t.loadable({
    type: 'Boolean',
    byPath: true,
    nullable: true,
    complexity: DERIVED,
    description:
      'Whether its notifications are muted for all recipients; null for callers who may not stop it',
    load: async (batches: BatchNode[], { prisma, caller }) => {
      const may = ({ row, share }: BatchNode): boolean =>
        share === null &&
        callerMay(
          'stop',
          caller,
          { visibility: row.visibility, ownerId: row.project_owner_id, role: row.role },
          row.owner_id,
        )
      const asked = batches.filter(may)
      const muted = await mutedAmong(
        prisma,
        asked.map(({ row }) => row.key),
      )
      return batches.map((batch) => (may(batch) ? muted.has(batch.row.key) : null))
    },
    resolve: (batch) => batch,
  }),
)

const TokenType = builder.objectRef<TokenView>('Token')
builder.objectType(TokenType, {
  description: 'A token for programs, never the token itself.',
  fields: (t) => declared(t, tokenFields, {}, (token) => token),
})

builder.objectField(ViewerType, 'tokens', (t) =>
  t.field({
    type: [TokenType],
    nullable: true,
    complexity: DERIVED,
    description: 'Your tokens, newest first, at most 500; null for requests with a token',
    resolve: (user, _args, { caller, prisma }) =>
      isPerson(caller)
        ? listTokens(prisma, user.id, { limit: MAX_PAGE_SIZE.tokens, after: undefined })
        : null,
  }),
)

const EntryType = builder.objectRef<AuditRecord>('AuditEntry')
builder.objectType(EntryType, {
  description: 'Who did what.',
  fields: (t) => declared(t, auditFields, { actor: PersonType }, (entry) => entry),
})
const EntryConnection = connectionType<typeof EntryType, AuditRecord>('AuditEntry', EntryType)
const entryCursors = cursorOf('audit', z.int().min(0))

builder.queryField('audit', (t) =>
  t.field({
    type: EntryConnection,
    nullable: true,
    complexity: connectionCost,
    description: 'The audit log, newest first; null for all but administrators in person',
    args: {
      ...pageArgs('audit'),
      subject: t.arg.string({ description: 'Only entries about this subject, such as `batch:<id>`' }),
      action: t.arg.string({
        description: 'An action such as `token.created`, or a prefix such as `token.`',
      }),
      actor: t.arg.string({ description: 'The id or the e-mail address of an account' }),
      address: t.arg.string({ description: 'Only requests from this IP address' }),
    },
    authScopes: { administrator: true },
    unauthorizedResolver: () => null,
    resolve: async (_root, { first, ...args }, { caller, prisma }) => {
      const after = entryCursors.read(args.after, 'after')
      const filter = filterOf(args)
      const reader = { userId: caller.kind === 'known' ? caller.user.id : NO_USER }
      const rows = first === 0 ? [] : await listAudit(prisma, reader, { ...filter, limit: first + 1, after })
      return pageOf(rows, {
        first,
        after,
        nodeOf: (entry) => entry,
        cursorOf: ({ id }) => entryCursors.write(id),
        total: () => countAudit(prisma, filter),
      })
    },
  }),
)

interface AuditArgs {
  subject?: string | null | undefined
  action?: string | null | undefined
  actor?: string | null | undefined
  address?: string | null | undefined
}

const filterOf = ({ subject, action, actor, address }: AuditArgs): AuditFilter => ({
  subject: storable(subject),
  action: storable(action),
  actor: storable(actor),
  address: storable(address),
})

/** Drops text that the database cannot store: no entity has such a name. */
const storable = (given: string | null | undefined): string | undefined =>
  given == null ? undefined : storablePart(given)
