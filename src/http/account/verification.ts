import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import {
  addressesOf,
  type Confirmation,
  confirmAddress,
  findConfirmation,
  requestAccountConfirmation,
  requestConfirmations,
  verificationOf,
} from '../../domain/addresses/index.ts'
import { escapeHtml } from '../../domain/escape-html.ts'
import { administeredProject } from '../../domain/notifications/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { type AttemptLimits, createAttemptLimits } from '../request/attempts.ts'
import { personOnly } from '../request/credentials.ts'
import { mailPage } from '../request/mail-page.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import { wantsHtml } from '../server/web.ts'

const FORM = 'application/x-www-form-urlencoded'
const addressShape = z.object({
  email: z.string(),
  state: z.enum(['confirmed', 'unconfirmed', 'stopped']).describe('stopped: its owner wants no mail'),
  confirmation_requested_at: shapes.instant.nullable().describe('When its owner was last asked'),
})
const verificationShape = z.object({
  email: z.string(),
  verified: z.boolean(),
  verified_at: shapes.instant.nullable(),
  confirmation_requested_at: shapes.instant.nullable(),
  mail_configured: z.boolean().describe('False: nothing can be verified by mail here'),
})

interface Context {
  services: Services
  /** Limits how many confirmations a user, or a network, may request. */
  requests: AttemptLimits
}

const mailConfigured = ({ config }: Services): boolean => config.smtp !== undefined

function requireMail(services: Services): void {
  if (!mailConfigured(services)) throw new Problem('mail_not_configured')
}
const bySlug = { tags: ['rules'], params: z.object({ slug: z.string() }), querystring: shapes.nothing }
const own = { tags: ['identity'], querystring: shapes.nothing }

/** Verifies addresses of accounts, and confirms those that mail goes to (contract §10 "Accounts"). */
export function verificationRoutes(app: FastifyInstance, services: Services): void {
  const requests = createAttemptLimits({ account: 30, address: 60 })
  addRoutes(app, { services, requests }, [
    readVerificationRoute,
    requestVerificationRoute,
    listConfirmationsRoute,
    requestConfirmationRoute,
  ])
  linkRoutes(app, services)
}

function readVerificationRoute(routes: Routes, { services }: Context): void {
  const { sql } = services
  routes.get(
    '/api/auth/verification',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Whether my address is verified',
        response: { 200: verificationShape },
      },
    },
    async (request) => {
      const found = await verificationOf(sql, (await request.person()).user.id)
      return {
        email: found.email,
        verified: found.verifiedAt !== null,
        verified_at: found.verifiedAt,
        confirmation_requested_at: found.askedAt,
        mail_configured: mailConfigured(services),
      }
    },
  )
}

function requestVerificationRoute(routes: Routes, { services, requests }: Context): void {
  const { writer, now } = services
  routes.post(
    '/api/auth/verification',
    {
      ...personOnly,
      schema: {
        ...own,
        summary: 'Send me the link that verifies my address again; at most 3 in a day',
        body: shapes.noInput,
        response: { 202: z.object({ requested: z.literal(true) }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      requireMail(services)
      requests.take({ account: caller.user.id, address: request.ip }, now())
      await write(writer, (tx) => requestAccountConfirmation(tx, caller.user, { again: true }, now()))
      return reply.code(202).send({ requested: true })
    },
  )
}

function listConfirmationsRoute(routes: Routes, { services }: Context): void {
  const { config, sql } = services
  routes.get(
    '/api/projects/:slug/confirmations',
    {
      ...personOnly,
      schema: {
        ...bySlug,
        summary: 'Addresses of the project and its rules, and whether they are confirmed; for its owner',
        response: { 200: z.object({ items: z.array(addressShape), mail_configured: z.boolean() }) },
      },
    },
    async (request) => {
      const project = await administeredProject(sql, await request.person(), request.params.slug)
      const found = await addressesOf(sql, { projectKey: project.key }, config.mail.allowedDomains)
      const items = found.map(({ address, state, askedAt }) => ({
        email: address,
        state,
        confirmation_requested_at: askedAt,
      }))
      return { items, mail_configured: mailConfigured(services) }
    },
  )
}

function requestConfirmationRoute(routes: Routes, { services, requests }: Context): void {
  const { config, writer, now } = services
  routes.post(
    '/api/projects/:slug/confirmations',
    {
      ...personOnly,
      schema: {
        ...bySlug,
        summary: 'Send the confirmation of an address of the project again; at most 3 times a day',
        body: z.strictObject({ email: shapes.email }),
        response: { 202: z.object({ requested: z.literal(true) }) },
      },
    },
    async (request, reply) => {
      const caller = await request.person()
      const { slug } = request.params
      requests.take({ account: caller.user.id, address: request.ip }, now())
      await write(writer, async (tx) => {
        const project = await administeredProject(tx, caller, slug)
        requireMail(services)
        const of = { projectKey: project.key, requestedBy: caller.user.id, address: request.body.email }
        return await requestConfirmations(tx, of, config.mail.allowedDomains, now())
      })
      return reply.code(202).send({ requested: true })
    },
  )
}

/**
 * The page of a confirmation link. Who has the link can read the mail of the address; that is the only permission it
 * needs, so cookies are ignored. GET changes nothing, because mail programs open links by themselves.
 */
function linkRoutes(app: FastifyInstance, { sql, writer, now }: Services): void {
  app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, _body, done) => done(null, {}))
    const routes = scope.withTypeProvider<ZodTypeProvider>()
    const options = {
      config: { needsNoCaller: true },
      schema: { hide: true, params: z.object({ token: z.string() }) },
    }

    routes.get('/verify/:token', options, async (request, reply) => {
      const found = await findConfirmation(sql, request.params.token, now())
      if (wantsHtml(request)) return sendPage(reply, found, false)
      if (found === undefined) throw new Problem('confirmation_not_found')
      return showLink(found, false)
    })

    routes.post('/verify/:token', options, async (request, reply) => {
      const done = await write(writer, (tx) => confirmAddress(tx, request.params.token, now())).catch(
        (error) => {
          const gone = error instanceof Problem && error.code === 'confirmation_not_found'
          if (gone && wantsHtml(request)) return undefined
          throw error
        },
      )
      if (wantsHtml(request)) return sendPage(reply, done, true)
      return showLink(done as Confirmation, true)
    })
  })
}

const showLink = (found: Confirmation, confirmed: boolean) => ({
  email: found.address,
  purpose: found.purpose,
  confirmed,
})

function sendPage(reply: FastifyReply, found: Confirmation | undefined, done: boolean): FastifyReply {
  return reply
    .code(found === undefined ? 404 : 200)
    .type('text/html; charset=utf-8')
    .send(page(found, done))
}

function page(found: Confirmation | undefined, done: boolean): string {
  const [title, lines] = wordsOf(found, done)
  const button =
    found === undefined || done
      ? '<p><a href="/">Open the experiment monitor</a></p>'
      : '<form method="post"><p><button>Confirm this address</button></p></form>'
  const paragraphs = lines.map(
    (line) => `<p${done ? ' class="said" role="status"' : ''}>${escapeHtml(line)}</p>`,
  )
  return mailPage(title, [...paragraphs, button].join('\n'))
}

function wordsOf(found: Confirmation | undefined, done: boolean): [title: string, lines: string[]] {
  if (found === undefined) {
    return [
      'This link has ended',
      ['It was used already, or it is older than 7 days. Ask for another one where you asked for this one.'],
    ]
  }
  const { address, purpose, project, accountSince } = found
  if (done) {
    return [
      'Address confirmed',
      [
        purpose === 'account'
          ? `${address} is verified. You can be invited to projects, and notification rules can mail you.`
          : `${address} can be mailed by notification rules now. Every mail has a link that stops it.`,
      ],
    ]
  }
  return [
    'Confirm your address',
    purpose === 'account'
      ? [
          `An account with the address ${address} was registered here${accountSince === null ? '' : ` on ${accountSince.slice(0, 10)}`}.`,
          'Confirm only if you registered it. Otherwise close this page: the account then gets no invitations and no mail in your name.',
        ]
      : [
          `${project === null ? 'A project' : `The project “${project}”`} on this experiment monitor asks to send notifications to ${address}.`,
          'Confirm only if you want them. Otherwise close this page: nothing is sent to you.',
        ],
  ]
}
