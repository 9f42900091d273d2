import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import type { Project } from '../../lib/api/projects.ts'
import { errorText } from '../../lib/api/request.ts'
import { type Rule, setRecipients } from '../../lib/api/rules.ts'
import { faultOf } from '../../lib/availability.ts'
import { addressesQuery, membersQuery, ownRulesQuery, rulesQuery } from '../../lib/project-queries.ts'
import { projectQuery, useMe } from '../../lib/queries.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RefusedProject } from '../../ui/refused.tsx'
import { Section } from '../../ui/section.tsx'
import { Sheet } from '../../ui/table.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { ProjectTabs } from '../project/tabs.tsx'
import { Emails } from './emails.tsx'
import { RuleForm } from './rule-form.tsx'
import { RuleRow } from './rule-row.tsx'
import { Unconfirmed } from './unconfirmed.tsx'
import { ruleName } from './words.ts'

const route = getRouteApi('/p/$slug/rules')

/** The notification rules of the project. */
export function RulesPage() {
  const { slug } = route.useParams()
  const me = useMe()
  const project = useQuery(projectQuery(slug))
  const fault = faultOf(project)
  if (fault) return <RefusedProject error={fault} />
  if (!project.data || !me) return <Waiting />
  return (
    <Sheet title={`Notification rules of ${project.data.display_name}`}>
      <ProjectTabs slug={slug} />
      {project.data.role === 'owner' || me.role === 'admin' ? (
        <Administered key={slug} slug={slug} project={project.data} />
      ) : (
        <p className="text-muted">
          Only the owner of this project, {project.data.owner.name}, and administrators see its rules and
          change them.
        </p>
      )}
      <OwnRules key={`own ${slug}`} slug={slug} email={me.email} />
    </Sheet>
  )
}

function Administered({ slug, project }: { slug: string; project: Project }) {
  const rules = useQuery(rulesQuery(slug))
  const set = project.recipients ?? []
  const defaultRecipients =
    set.length === 0
      ? `the project’s owner, ${project.owner.name}`
      : `the project’s recipients (${some(set.length, 'address', 'addresses')})`
  if (rules.data === undefined) return <Unread rules={rules} />
  return (
    <>
      {!rules.data.mail.configured && (
        <p role="status" className="rounded bg-amber-soft px-2 py-1.5 text-amber">
          No mail server is set, so mails are only written to the service’s log. Set{' '}
          <code className="font-mono text-xs">SVC_SMTP_URL</code> and start the service again to send them.
        </p>
      )}
      <RuleList
        slug={slug}
        title="Rules"
        add="New rule"
        items={rules.data.items}
        usual={defaultRecipients}
        none="No rules yet: this project sends no messages. A good first rule is “a job fails”."
        note="A rule applies from the next event on. You can mute a single batch on its page, under More."
      />
      <Recipients slug={slug} project={project} />
      <Unconfirmed slug={slug} />
    </>
  )
}

/** Rules of the reader, for runs of this project. */
function OwnRules({ slug, email }: { slug: string; email: string }) {
  const rules = useQuery(ownRulesQuery(slug))
  if (rules.data === undefined) return <Unread rules={rules} />
  return (
    <RuleList
      slug={slug}
      title="My rules"
      add="Add my rule"
      items={rules.data.items}
      usual={email}
      personal
      none="None yet. Rules of yours send only to you, by mail or a channel of yours; no one else sees them."
      note="Rules of yours send only to you, as long as you see this project. No one else sees them."
    />
  )
}

function Unread({ rules }: { rules: { error: Error | null; refetch: () => Promise<unknown> } }) {
  if (rules.error === null) return <Waiting />
  return (
    <Notice title={errorText(rules.error)} bad>
      <Button onClick={() => void rules.refetch()}>Try again</Button>
    </Notice>
  )
}

function RuleList(props: {
  slug: string
  title: string
  /** The label of the button. */
  add: string
  items: Rule[]
  usual: string
  personal?: boolean
  none: string
  note: string
}) {
  const { slug, title, items, usual, personal = false } = props
  const queries = useQueryClient()
  const [open, setOpen] = useState<Rule | 'new' | null>(null)
  const [made, setMade] = useState<Rule | null>(null)
  const id = personal ? 'own-rules' : 'rules'
  return (
    <>
      <section aria-labelledby={id} className="flex flex-col gap-2">
        <div className="flex items-center gap-3">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          {items.length > 0 && <span className="text-muted">{some(items.length, 'rule')}</span>}
          <span className="flex-1" />
          <Button look={personal ? 'plain' : 'primary'} onClick={() => setOpen('new')}>
            {props.add}
          </Button>
        </div>
        {items.length === 0 ? (
          <p className="border-y border-line px-2 py-6 text-center text-muted">{props.none}</p>
        ) : (
          <ul
            aria-label={personal ? 'My rules for the project' : 'Rules of the project'}
            className="border-b border-line"
          >
            {items.map((rule) => (
              <RuleRow key={rule.id} rule={rule} usual={usual} onEdit={() => setOpen(rule)} />
            ))}
          </ul>
        )}
        {(items.length > 0 || !personal) && <p className="text-xs text-muted">{props.note}</p>}
      </section>
      {made !== null && <Secrets rule={made} onClose={() => setMade(null)} />}
      {open !== null && (
        <RuleForm
          slug={slug}
          rule={open === 'new' ? null : open}
          usual={usual}
          personal={personal}
          onClose={() => setOpen(null)}
          onDone={(rule) => {
            setOpen(null)
            if (rule.channels.some(({ secret }) => secret !== undefined)) setMade(rule)
            showToast(
              open === 'new' ? `“${ruleName(rule)}” is made, and is on.` : `“${ruleName(rule)}” is saved.`,
            )
            void queries.invalidateQueries({ queryKey: ['rules', slug] })
            void queries.invalidateQueries({ queryKey: addressesQuery(slug).queryKey })
          }}
        />
      )}
    </>
  )
}

/** The secrets that the service made for webhooks. */
function Secrets({ rule, onClose }: { rule: Rule; onClose: () => void }) {
  return (
    <Dialog title="Secret of the webhook" onClose={onClose}>
      <p className="text-muted">
        Your receiver verifies the signatures of messages with it. It is shown only once.
      </p>
      {rule.channels.map(
        ({ id, url, secret }) =>
          secret !== undefined && (
            <div key={id} className="flex flex-col gap-1">
              <p className="break-words">{url}</p>
              <div className="flex items-center gap-2">
                <code className="min-w-0 flex-1 break-all font-mono text-xs">{secret}</code>
                <Copy text={secret} />
              </div>
            </div>
          ),
      )}
      <div className="flex justify-end">
        <Button look="primary" onClick={onClose}>
          Done
        </Button>
      </div>
    </Dialog>
  )
}

/** The recipients of rules without their own recipients. */
function Recipients({ slug, project }: { slug: string; project: Project }) {
  const queries = useQueryClient()
  const { queryKey } = projectQuery(slug)
  const members = useQuery(membersQuery(slug)).data?.items ?? []
  const put = (recipients: string[]): void => {
    queries.setQueryData<Project>(queryKey, (before) => before && { ...before, recipients })
  }
  const save = useMutation({
    mutationFn: ({ next }: { next: string[]; before: string[] }) => setRecipients(slug, next),
    onMutate: async ({ next }) => {
      await queries.cancelQueries({ queryKey })
      put(next)
    },
    onSuccess: ({ emails }) => {
      put(emails)
      void queries.invalidateQueries({ queryKey: addressesQuery(slug).queryKey })
    },
    onError: (_, { before }) => put(before),
  })
  const now = project.recipients ?? []
  return (
    <Section id="recipients" title="Recipients of the project">
      <p className="max-w-prose text-muted">
        {now.length === 0
          ? `None are set, so mail goes to the owner, ${project.owner.name}.`
          : 'They get the mail of rules without recipients of their own.'}{' '}
        A person with an account gets it only while they can see the project.
      </p>
      <Emails
        label="Recipients of the project"
        value={now}
        onChange={(next) => save.mutate({ next, before: now })}
        known={members.map((member) => member.email)}
        disabled={save.isPending}
      />
      {save.error && <Failure>{errorText(save.error)} The recipients were not changed.</Failure>}
    </Section>
  )
}
