import type { FastifyInstance, FastifyReply } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { escapeHtml } from '../../domain/escape-html.ts'
import {
  findSubscription,
  type MailSubscription,
  resubscribe,
  unsubscribe,
} from '../../domain/notifications/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { write } from '../../stream/commit.ts'
import { mailPage } from '../request/mail-page.ts'

const FORM = 'application/x-www-form-urlencoded'
const named = z.object({ rule: z.string().max(100).optional(), batch: z.string().max(2_000).optional() })
/** What the buttons of the page send, and what mail programs send by themselves (RFC 8058). */
const wish = z.object({
  action: z.enum(['rule', 'batch', 'project', 'service', 'resume']).optional(),
  'List-Unsubscribe': z.literal('One-Click').optional(),
})

/**
 * The pages of the links at the foot of a mail: its recipient ends mail of a rule, of a batch or of the project without
 * signing in. The secret in the address is the only permission that is needed, so cookies are ignored. GET changes
 * nothing, because mail programs open links by themselves.
 */
export function mailRoutes(app: FastifyInstance, { sql, writer, now }: Services): void {
  app.register(async (scope) => {
    scope.addContentTypeParser(FORM, { parseAs: 'string' }, (_request, body, done) => {
      done(null, Object.fromEntries(new URLSearchParams(String(body))))
    })
    // Mail programs use either content type.
    scope.addContentTypeParser('multipart/form-data', { parseAs: 'string' }, (_request, body, done) => {
      const oneClick = /name="?List-Unsubscribe"?\s+One-Click/i.test(String(body))
      done(null, oneClick ? { 'List-Unsubscribe': 'One-Click' } : {})
    })
    const routes = scope.withTypeProvider<ZodTypeProvider>()
    const options = { config: { needsNoCaller: true } }
    const common = { hide: true, params: z.object({ token: z.string() }), querystring: named }
    const find = async (token: string, query: z.output<typeof named>): Promise<MailSubscription> => {
      const choice = await findSubscription(sql, token, query)
      if (choice === undefined) throw new Problem('not_found')
      return choice
    }

    routes.get('/mail/:token', { ...options, schema: common }, async (request, reply) =>
      show(reply, await find(request.params.token, request.query), request.url),
    )

    routes.post(
      '/mail/:token',
      { ...options, schema: { ...common, body: wish.nullish() } },
      async (request, reply) => {
        const choice = await find(request.params.token, request.query)
        const { action, 'List-Unsubscribe': oneClick } = request.body ?? {}
        const wanted =
          action ?? (oneClick === undefined ? undefined : choice.rule === null ? 'project' : 'rule')
        if (wanted === undefined) {
          throw new Problem('invalid_body', {
            errors: [{ path: 'action', message: 'must be rule, batch, project, service or resume' }],
          })
        }
        if ((wanted === 'rule' && choice.rule === null) || (wanted === 'batch' && choice.batch === null)) {
          throw new Problem('not_found')
        }
        await write(writer, (tx) =>
          wanted === 'resume' ? resubscribe(tx, choice) : unsubscribe(tx, choice, wanted, now()),
        )
        return show(reply, await find(request.params.token, request.query), request.url)
      },
    )
  })
}

function show(reply: FastifyReply, choice: MailSubscription, address: string): FastifyReply {
  reply.type('text/html; charset=utf-8')
  return reply.send(page(choice, address))
}

function page({ address, project, rule, batch, ended }: MailSubscription, url: string): string {
  const button = (action: string, label: string): string =>
    `<p><button name="action" value="${action}">${escapeHtml(label)}</button></p>`
  const said = [
    ...(ended.service ? ['You get no mail of this service any more.'] : []),
    ...(ended.project ? [`You get no mail of the project ${project} any more.`] : []),
    ...(ended.rule && rule !== null ? [`You get no mail of ${ruleText(rule.name)} any more.`] : []),
    ...(ended.batch && batch !== null ? [`You get no mail of the batch ${batch.id} any more.`] : []),
  ]
  const current =
    said.length === 0
      ? 'Choose what is to end; nothing has changed yet.'
      : ended.project || ended.service
        ? ''
        : 'All other mail goes on.'
  const buttons = [
    ...(rule !== null && !ended.rule ? [button('rule', `No more mail of ${ruleText(rule.name)}`)] : []),
    ...(batch !== null && !ended.batch ? [button('batch', `No more mail of the batch ${batch.id}`)] : []),
    ...(ended.project ? [] : [button('project', `No more mail of the project ${project}`)]),
    ...(ended.service ? [] : [button('service', 'No more mail of this service at all, of any project')]),
    ...(said.length === 0 ? [] : [button('resume', 'Send me all mail of the project again')]),
  ]
  return mailPage(
    `Mail of ${project}`,
    `<p class="faint">To ${escapeHtml(address)}. ${current}</p>
${said.map((one) => `<p class="said" role="status">${escapeHtml(one)}</p>`).join('\n')}
<form method="post" action="${escapeHtml(url)}">${buttons.join('\n')}</form>`,
  )
}

const ruleText = (name: string | null): string => (name === null ? 'this rule' : `the rule “${name}”`)
