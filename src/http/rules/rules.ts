import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { Db, Tx } from '../../db/sql.ts'
import { visibleProject } from '../../domain/access.ts'
import { addressesOf, requestConfirmations } from '../../domain/addresses/index.ts'
import type { Known } from '../../domain/caller.ts'
import { createdAtOf, creationPosition, cursorOf } from '../../domain/cursors.ts'
import {
  administeredProject,
  type ChannelSettings,
  createRule,
  deleteRule,
  listRules,
  quietShape,
  type Rule,
  type RuleFields,
  testRule,
  updateRule,
} from '../../domain/notifications/index.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { type AttemptLimits, createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { pageFrom, pageOf, pageQuery } from '../request/page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { channels, recipientsIn, wishesOf } from './channel-shapes.ts'
import {
  condition,
  conditionOf,
  cooldown,
  counted,
  mailShape,
  ownRecipients,
  ownRuns,
  recipients,
  refuseMismatch,
  ruleShape,
  show,
  trigger,
} from './rule-shapes.ts'

const bySlug = z.object({ slug: z.string() })
const cursorFor = (projectKey: number) => cursorOf(`rules ${projectKey}`, creationPosition)

const settingsOf = ({ config }: Services): ChannelSettings => ({
  key: config.encryptionKey,
  allowPrivate: config.webhookPrivate,
})

const mailOf = ({ config }: Services) => ({ configured: config.smtp !== undefined })

/** Addresses of the project that may not be mailed yet, in lower case. */
async function unconfirmedOf({ config }: Services, db: Db, projectKey: number): Promise<Set<string>> {
  const states = await addressesOf(db, { projectKey }, config.mail.allowedDomains)
  return new Set(states.flatMap((one) => (one.state === 'confirmed' ? [] : [one.address.toLowerCase()])))
}

/** Sends confirmation links to the new addresses of a rule. @returns those that may not be mailed yet, in lower case */
async function requestForRule(services: Services, tx: Tx, caller: Known, rule: Rule): Promise<Set<string>> {
  const { config, now } = services
  // A personal rule mails the account's own address.
  if (rule.personal) return new Set()
  const { key: projectKey } = await administeredProject(tx, caller, rule.project)
  if (config.smtp !== undefined) {
    const of = { projectKey, requestedBy: caller.user.id }
    await requestConfirmations(tx, of, config.mail.allowedDomains, now())
  }
  return unconfirmedOf(services, tx, projectKey)
}

interface Context {
  services: Services
  /** Limits how often a user, or a network, has test mail sent. */
  tests: AttemptLimits
}

const tags = ['rules']
const ofRule = { tags, params: shapes.byId, querystring: shapes.nothing }

/**
 * Rules that mail (contract §4 "Projects", §7): for a project's owner and administrators. Personal ones are for their
 * person: all who see the project may have some.
 */
export function ruleRoutes(app: FastifyInstance, services: Services): void {
  // A test mail goes to any address that a rule names.
  const tests = createAttemptLimits({ account: 10, address: 30 })
  addRoutes(app, { services, tests }, [
    listRulesRoute,
    createRuleRoute,
    updateRuleRoute,
    deleteRuleRoute,
    testRuleRoute,
  ])
}

function listRulesRoute(routes: Routes, { services }: Context): void {
  const { sql, prisma } = services
  routes.get(
    '/api/projects/:slug/rules',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'The rules of a project, newest first, and whether the service can send mail',
        params: bySlug,
        querystring: z.strictObject({
          ...pageQuery,
          personal: z
            .enum(['true', 'false'])
            .optional()
            .describe('The caller’s own rules instead of those of the project'),
        }),
        response: { 200: pageOf(ruleShape).extend({ mail: mailShape }) },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { limit, cursor: text } = request.query
      const personal = request.query.personal === 'true'
      const project = await (personal ? visibleProject : administeredProject)(
        sql,
        caller,
        request.params.slug,
      )
      const cursor = cursorFor(project.key)
      const personId = personal ? caller.user.id : null
      const found = await listRules(prisma, project.key, {
        limit: limit + 1,
        after: cursor.read(text),
        personId,
      })
      const { rows, next_cursor } = pageFrom(found, limit, cursor, createdAtOf)
      const open = personal ? new Set<string>() : await unconfirmedOf(services, sql, project.key)
      return { items: rows.map((rule) => show(rule, open)), next_cursor, mail: mailOf(services) }
    },
  )
}

function createRuleRoute(routes: Routes, { services }: Context): void {
  const { now } = services
  routes.post(
    '/api/projects/:slug/rules',
    {
      ...personOnly,
      schema: {
        tags,
        summary: 'Create a rule; it applies from the next event on',
        params: bySlug,
        querystring: shapes.nothing,
        body: z.strictObject({
          ...counted,
          name: shapes.label.optional().describe('Default: the trigger'),
          recipients: recipients.nullish().describe("Instead of the project's recipients"),
          channels: channels.nullish(),
          enabled: z.boolean().default(true),
          quiet: quietShape.nullish().describe('Quiet hours; messages are collected in a digest'),
        }),
        response: { 201: ruleShape },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { body } = request
      const fields: RuleFields & { personal: boolean } = {
        name: body.name ?? body.trigger,
        trigger: body.trigger,
        condition: conditionOf(body.condition),
        recipients: ownRecipients(recipientsIn(body.channels, body.recipients)),
        channels: wishesOf(body.channels),
        enabled: body.enabled,
        cooldown_s: body.cooldown_s,
        personal: body.personal,
        own_runs: body.own_runs,
        quiet: body.quiet ?? null,
      }
      refuseMismatch(fields)
      const done = await write(services.writer, async (tx) => {
        const rule = await createRule(tx, caller, request.params.slug, fields, settingsOf(services), now())
        return { rule, open: await requestForRule(services, tx, caller, rule) }
      })
      return reply.code(201).send(show(done.rule, done.open))
    },
  )
}

function updateRuleRoute(routes: Routes, { services }: Context): void {
  const { now } = services
  routes.patch(
    '/api/rules/:id',
    {
      ...personOnly,
      schema: {
        ...ofRule,
        summary: 'Change the given fields; `enabled: false` disables the rule',
        body: z
          .strictObject({
            name: shapes.label.optional(),
            trigger: trigger.optional(),
            condition: condition.nullish(),
            recipients: recipients.nullish(),
            channels: channels.nullish(),
            enabled: z.boolean().optional(),
            cooldown_s: cooldown.optional(),
            own_runs: ownRuns.optional(),
            quiet: quietShape.nullish(),
          })
          .refine(
            (body) => Object.values(body).some((value) => value !== undefined),
            'must change something',
          ),
        response: { 200: ruleShape },
      },
    },
    async (request) => {
      const caller = await request.person()
      const { name, trigger, enabled, cooldown_s, own_runs, quiet, ...given } = request.body
      const to = recipientsIn(given.channels, given.recipients)
      const change: Partial<RuleFields> = {
        ...(name !== undefined && { name }),
        ...(trigger !== undefined && { trigger }),
        ...(given.condition !== undefined && { condition: conditionOf(given.condition) }),
        ...(to !== undefined && { recipients: ownRecipients(to) }),
        ...(given.channels !== undefined && { channels: wishesOf(given.channels) }),
        ...(enabled !== undefined && { enabled }),
        ...(cooldown_s !== undefined && { cooldown_s }),
        ...(own_runs !== undefined && { own_runs }),
        ...(quiet !== undefined && { quiet }),
      }
      const done = await write(services.writer, async (tx) => {
        const rule = await updateRule(
          tx,
          caller,
          request.params.id,
          change,
          refuseMismatch,
          settingsOf(services),
          now(),
        )
        return { rule, open: await requestForRule(services, tx, caller, rule) }
      })
      return show(done.rule, done.open)
    },
  )
}

function deleteRuleRoute(routes: Routes, { services }: Context): void {
  const { now } = services
  routes.delete(
    '/api/rules/:id',
    {
      ...personOnly,
      schema: {
        ...ofRule,
        summary: 'Delete a rule; its pending mail is not sent',
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      await write(services.writer, (tx) => deleteRule(tx, caller, request.params.id, now()))
      return reply.code(204).send(null)
    },
  )
}

function testRuleRoute(routes: Routes, { services, tests }: Context): void {
  const { now } = services
  routes.post(
    '/api/rules/:id/test',
    {
      ...personOnly,
      schema: {
        ...ofRule,
        summary: 'Send a test message to every channel of the rule',
        body: shapes.noInput,
        response: { 202: z.object({ queued: z.boolean(), mail: mailShape }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      tests.take({ account: caller.user.id, address: request.ip }, now())
      await write(services.writer, (tx) => testRule(tx, caller, request.params.id, now()))
      return reply.code(202).send({ queued: true, mail: mailOf(services) })
    },
  )
}
