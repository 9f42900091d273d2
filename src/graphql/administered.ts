import { z } from 'zod'
import { type AuditRecord, countAudit, listAudit } from '../domain/audit.ts'
import { isAdmin, isPerson } from '../domain/caller.ts'
import { isMuted, listRules, type Rule } from '../domain/notifications/index.ts'
import { listTokens, type Token } from '../domain/tokens/index.ts'
import { Problem } from '../problem.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost, DERIVED } from './costs.ts'
import { connectionType, cursorsOf, FIRST, firstUpTo, MOST, pageOf } from './paging.ts'
import { PersonType, ViewerType } from './person.ts'
import { ProjectType } from './project.ts'

/** What only those see who administer it, in person: rules, mutes, tokens, the audit log; as REST shows them. */

const RuleType = builder.objectRef<Rule>('Rule')
builder.objectType(RuleType, {
  description: 'What is mailed (docs/notifications.md).',
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => id }),
    name: t.string({ resolve: ({ name }) => name }),
    trigger: t.string({ resolve: ({ trigger }) => trigger }),
    condition: t.field({
      type: 'JSON',
      nullable: true,
      description: 'Of a metric rule: key, op and value',
      resolve: ({ condition }) => condition && { ...condition, value: condition.value ?? null },
    }),
    recipients: t.stringList({
      nullable: true,
      description: "Null: the project's",
      resolve: ({ recipients }) => recipients,
    }),
    enabled: t.boolean({ resolve: ({ enabled }) => enabled }),
    cooldownS: t.int({ resolve: ({ cooldownS }) => cooldownS }),
    createdAt: t.field({ type: 'DateTime', resolve: ({ createdAt }) => createdAt }),
  }),
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
    resolve: async ({ key }, _args, { db, standings }) =>
      (await standings.load(key)).may('administer')
        ? { items: await listRules(db, key, { limit: MOST.rules, after: undefined }) }
        : null,
  }),
}))

builder.objectField(BatchType, 'muted', (t) =>
  t.boolean({
    nullable: true,
    complexity: DERIVED,
    description: 'No rule mails of it, to anybody; null for those who may not stop it',
    resolve: async ({ row, share }, _args, context) =>
      share === null ? unlessForbidden(isMuted(context.db, context.caller, row.id)) : null,
  }),
)
const unlessForbidden = <T>(read: Promise<T>): Promise<T | null> =>
  read.catch((error) => {
    if (error instanceof Problem && error.code === 'forbidden') return null
    throw error
  })

const TokenType = builder.objectRef<Token>('Token')
builder.objectType(TokenType, {
  description: 'A token for programs, never the token itself.',
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => id }),
    name: t.string({ resolve: ({ name }) => name }),
    scope: t.string({ description: 'reporter or read', resolve: ({ scope }) => scope }),
    last4: t.string({ resolve: ({ last4 }) => last4 }),
    createdAt: t.field({ type: 'DateTime', resolve: ({ createdAt }) => createdAt }),
    lastUsedAt: t.field({ type: 'DateTime', nullable: true, resolve: ({ lastUsedAt }) => lastUsedAt }),
  }),
})

builder.objectField(ViewerType, 'tokens', (t) =>
  t.field({
    type: [TokenType],
    nullable: true,
    complexity: DERIVED,
    description: 'Yours, newest first, 500 at most; null for whoever comes with a token',
    resolve: (user, _args, { caller, db }) =>
      isPerson(caller) ? listTokens(db, user.id, { limit: MOST.tokens, after: undefined }) : null,
  }),
)

const EntryType = builder.objectRef<AuditRecord>('AuditEntry')
builder.objectType(EntryType, {
  description: 'Who did what.',
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => id }),
    at: t.field({ type: 'DateTime', resolve: ({ at }) => at }),
    actor: t.field({
      type: PersonType,
      nullable: true,
      description: 'Null once the account is gone, for an operator, and for a sign-in that failed',
      resolve: ({ actor }) => actor,
    }),
    via: t.string({ description: 'The kind of credential', resolve: ({ via }) => via }),
    address: t.string({
      nullable: true,
      description: 'The network address that the request came from',
      resolve: ({ address }) => address,
    }),
    action: t.string({
      description: 'Noun and verb, such as `batch.deleted`',
      resolve: ({ action }) => action,
    }),
    subject: t.string({ description: 'Such as `batch:<id>`', resolve: ({ subject }) => subject }),
    detail: t.field({ type: 'JSON', resolve: ({ detail }) => detail }),
  }),
})
const EntryConnection = connectionType<typeof EntryType, AuditRecord>('AuditEntry', EntryType)
const entryCursors = cursorsOf(
  'audit',
  z.int().min(0),
  (id: number) => id,
  (id) => id,
)

builder.queryField('audit', (t) =>
  t.field({
    type: EntryConnection,
    nullable: true,
    complexity: connectionCost,
    description: 'The audit log, newest first; null for all but administrators in person',
    args: {
      first: t.arg.int({ required: true, defaultValue: FIRST, validate: firstUpTo(MOST.audit) }),
      after: t.arg.string(),
      subject: t.arg.string({ description: 'Entries about this only, such as `batch:<id>`' }),
      action: t.arg.string({ description: 'Such as `token.created`, or the beginning of some: `token.`' }),
      actor: t.arg.string({ description: 'The id or the e-mail address of an account' }),
      address: t.arg.string({ description: 'Requests from this network address only' }),
    },
    resolve: async (_root, { first, subject, action, actor, address, ...args }, { caller, db }) => {
      if (!isPerson(caller) || !isAdmin(caller)) return null
      const after = entryCursors.read(args.after)
      const text = (given: string | null | undefined) => given?.replaceAll('\u0000', '').toWellFormed()
      const filter = {
        subject: text(subject),
        action: text(action),
        actor: text(actor),
        address: text(address),
      }
      const rows =
        first === 0
          ? []
          : await listAudit(db, { userId: caller.user.id }, { limit: first + 1, after, ...filter })
      return pageOf(rows, rows, {
        first,
        after,
        cursorOf: ({ id }) => entryCursors.write(id),
        total: () => countAudit(db, filter),
      })
    },
  }),
)
