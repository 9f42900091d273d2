import { callerMay } from '../domain/access.ts'
import {
  type AuditFilter,
  auditFields,
  auditWhere,
  NEWEST_ENTRY_FIRST,
  withoutOthersCommands,
} from '../domain/audit.ts'
import { isPerson } from '../domain/caller.ts'
import { listRules, mutedAmong, type Rule, ruleFields } from '../domain/notifications/index.ts'
import { storablePart } from '../domain/storable-text.ts'
import { ownTokens, tokenFields } from '../domain/tokens/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { declared, declaredOfRecord } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, pageSizes } from './paging.ts'
import { PersonType, ViewerType } from './person.ts'
import { ProjectType } from './project.ts'

/**
 * Rules, mutes, tokens and the audit log: visible only to signed-in administrators of the project or service; the same
 * as in REST.
 */

export const RuleType = builder.objectRef<Rule>('Rule')
builder.objectType(RuleType, {
  description: 'What is mailed (docs/notifications.md).',
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
      description: 'False: no mail server is set, so mail is only logged',
      resolve: (_rules, _args, { mailConfigured }) => mailConfigured,
    }),
  }),
})

builder.prismaObjectFields(ProjectType, (t) => ({
  rules: t.field({
    type: RulesType,
    nullable: true,
    complexity: DERIVED,
    description: 'Null for those who do not administer it',
    resolve: async ({ key }, _args, { prisma, memberships: standings }) =>
      (await standings.load(key)).may('administer')
        ? { items: await listRules(prisma, key, { limit: MAX_PAGE_SIZE.rules, after: undefined }) }
        : null,
  }),
}))

builder.objectField(BatchType, 'muted', (t) =>
  t.loadable({
    type: 'Boolean',
    byPath: true,
    nullable: true,
    complexity: DERIVED,
    description: 'Rules send no mail about it, to any recipient; null for callers who may not stop it',
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

const TokenType = builder.prismaObject('Token', {
  description: 'A token for programs, never the token itself.',
  select: { id: true },
  fields: (t) => ({ ...declaredOfRecord(t, tokenFields) }),
})

builder.objectField(ViewerType, 'tokens', (t) =>
  t.prismaField({
    type: [TokenType],
    nullable: true,
    complexity: DERIVED,
    description: 'Yours, newest first, 500 at most; null for requests with a token',
    resolve: (query, user, _args, { caller, prisma }) =>
      isPerson(caller)
        ? prisma.token.findMany({ ...query, ...ownTokens(user.id), take: MAX_PAGE_SIZE.tokens })
        : null,
  }),
)

const EntryType = builder.prismaObject('AuditEntry', {
  description: 'Who did what.',
  // Redaction depends on these.
  select: { id: true, subject: true, detail: true },
  fields: (t) => ({
    ...declaredOfRecord(t, auditFields, ['actor', 'subject', 'detail']),
    actor: t.field({
      type: PersonType,
      nullable: true,
      description: auditFields.actor.means,
      select: { actor: { select: { id: true, name: true } } },
      resolve: ({ actor }) => actor,
    }),
    // Always read, for redaction.
    subject: t.string({ description: auditFields.subject.means, resolve: ({ subject }) => subject }),
    detail: t.field({ type: 'JSON', resolve: ({ detail }) => detail }),
  }),
})

builder.queryField('audit', (t) =>
  t.prismaConnection(
    {
      type: EntryType,
      cursor: 'id',
      nullable: true,
      defaultSize: DEFAULT_PAGE_SIZE,
      maxSize: MAX_PAGE_SIZE.audit,
      complexity: ({ first, last }) => connectionCost({ first: first ?? last ?? DEFAULT_PAGE_SIZE }),
      description: 'The audit log, newest first; null for all but administrators in person',
      args: {
        subject: t.arg.string({ description: 'Only entries about this subject, such as `batch:<id>`' }),
        action: t.arg.string({
          description: 'An action such as `token.created`, or a prefix such as `token.`',
        }),
        actor: t.arg.string({ description: 'The id or the e-mail address of an account' }),
        address: t.arg.string({ description: 'Only requests from this network address' }),
      },
      validate: pageSizes(MAX_PAGE_SIZE.audit),
      authScopes: { administrator: true },
      unauthorizedResolver: () => null,
      totalCount: (_root, args, { prisma }) => prisma.auditEntry.count({ where: auditWhere(filterOf(args)) }),
      resolve: async (query, _root, args, { caller, prisma }) => {
        if (caller.kind !== 'known') return []
        const entries = await prisma.auditEntry.findMany({
          ...query,
          where: auditWhere(filterOf(args)),
          orderBy: NEWEST_ENTRY_FIRST,
        })
        return withoutOthersCommands(prisma, { userId: caller.user.id }, entries)
      },
    },
    { name: 'AuditEntryConnection' },
    { name: 'AuditEntryEdge' },
  ),
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
