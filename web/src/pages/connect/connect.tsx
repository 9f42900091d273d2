import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { reporterWheelQuery } from '../../lib/account-queries.ts'
import { type Batch, fetchBatches } from '../../lib/api/batches.ts'
import { createToken } from '../../lib/api/identity.ts'
import { errorText } from '../../lib/api/request.ts'
import { firstRunCommand, installCommand } from '../../lib/install-command.ts'
import { links } from '../../lib/links.ts'
import { useChannel } from '../../lib/live/stream.ts'
import { projectsQuery, useMe } from '../../lib/queries.ts'
import { invalidateQueries } from '../../lib/query-client.ts'
import { serviceAddress } from '../../lib/served.ts'
import { Button } from '../../ui/controls.tsx'
import { Code, Copy } from '../../ui/copy.tsx'
import { Failure } from '../../ui/notice.tsx'
import { pythonSnippet, shellSnippet } from './snippets.ts'

const KINDS = { line: 'First run in one line', python: 'Python', curl: 'Shell with curl' }

/** The maximum clock skew between database and service. */
const CLOCKS_APART_MS = 60_000

/** The guide to a first run: a token, a script, and the page opens the batch by itself. */
export function Connect() {
  const make = useFirstToken()
  const token = make.data?.token
  return (
    <div className="mx-auto flex max-w-3xl flex-col gap-6 px-4 py-8">
      <div>
        <h1 className="text-lg font-semibold">Connect a training script</h1>
        <p className="text-muted">Three steps; the page opens your run when its first event arrives.</p>
      </div>
      <Step n={1} title="Make a token" done={token !== undefined}>
        {token === undefined ? (
          <>
            <p className="text-muted">It lets a script send events as you. It is shown only once.</p>
            <div>
              <Button look="primary" disabled={make.isPending} onClick={() => make.mutate()}>
                Make a token
              </Button>
            </div>
            {make.error && <Failure>{errorText(make.error)}</Failure>}
          </>
        ) : (
          <div className="flex flex-wrap items-center gap-2">
            <code
              data-token
              className="rounded border border-line bg-surface px-2 py-1 font-mono text-xs break-all"
            >
              {token}
            </code>
            <Copy text={token} />
          </div>
        )}
      </Step>
      <Step n={2} title="Run this" done={false} waits={token === undefined}>
        {token !== undefined && <Command token={token} />}
      </Step>
      <Step n={3} title="Watch it arrive" done={false} waits={token === undefined}>
        {token !== undefined && (
          <p role="status" className="flex items-center gap-2 text-muted">
            <span className="pulse size-2 rounded-full bg-running" aria-hidden="true" />
            Waiting for the first event …
          </p>
        )}
      </Step>
    </div>
  )
}

/** Makes a token, and opens the first batch that reports after it. */
function useFirstToken() {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const me = useMe()
  const make = useMutation({
    mutationFn: async () => {
      const running = await fetchBatches({ status: ['running'] }, { limit: 500 })
      const token = await createToken({
        name: `script of ${new Date().toLocaleDateString('en-GB')}`,
        scope: 'reporter',
      })
      return { ...token, running: new Set(running.items.map((batch) => batch.id)) }
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  })
  // The user's first batch that reports after the token was created. Both times are of the server's clocks, because a
  // script may send old runs. The store is no indication: the sidebar may have fetched the batch before this message
  // arrived.
  useChannel('dashboard', ({ batches }) => {
    if (make.data === undefined) return
    const { created_at: since, running } = make.data
    const fresh = (batches as Batch[]).find(
      ({ id, owner, last_received_at: at }) =>
        owner?.id === me?.id &&
        !running.has(id) &&
        at !== null &&
        Date.parse(at) > Date.parse(since) - CLOCKS_APART_MS,
    )
    if (fresh === undefined) return
    void invalidateQueries({ queryKey: projectsQuery.queryKey })
    void navigate(links.batch(fresh.id))
  })
  return make
}

/** What to run, in the language of choice. */
function Command({ token }: { token: string }) {
  const [kind, setKind] = useState<keyof typeof KINDS>('line')
  const wheel = useQuery(reporterWheelQuery).data
  const url = serviceAddress()
  return (
    <>
      <div className="flex gap-1" role="group" aria-label="Language">
        {(['line', 'python', 'curl'] as const).map((one) => (
          <Button
            key={one}
            look={one === kind ? 'primary' : 'plain'}
            aria-pressed={one === kind}
            onClick={() => setKind(one)}
          >
            {KINDS[one]}
          </Button>
        ))}
      </div>
      {kind === 'python' && (
        <>
          <p className="text-muted">
            Install the reporter from this service (Python 3.10 or newer, no dependencies):
          </p>
          <Code label="Command that installs the reporter" text={installCommand('svc-reporter', url)} />
          <p className="text-muted">Then run this script:</p>
        </>
      )}
      {kind === 'line' ? (
        <>
          <p className="text-muted">
            Paste this line into a shell with curl and Python 3.10 or newer. It installs nothing, and trains a
            small model for half a minute:
          </p>
          {wheel !== undefined && (
            <Code label="Command for a first run" text={firstRunCommand(url, token, wheel)} wraps />
          )}
        </>
      ) : (
        <Code
          label={`Snippet for ${kind}`}
          text={kind === 'python' ? pythonSnippet(url, token) : shellSnippet(url, token)}
        />
      )}
    </>
  )
}

function Step(props: {
  n: number
  title: string
  done: boolean
  waits?: boolean
  children: React.ReactNode
}) {
  return (
    <section className="flex gap-3">
      <span
        aria-hidden="true"
        className={`flex size-6 shrink-0 items-center justify-center rounded-full text-xs ${props.done ? 'bg-completed text-bg' : props.waits ? 'border border-line text-muted' : 'bg-accent text-accent-ink'}`}
      >
        {props.done ? '✓' : props.n}
      </span>
      <div className="flex min-w-0 flex-1 flex-col gap-2">
        <h2 className={`font-medium ${props.waits ? 'text-muted' : ''}`}>{props.title}</h2>
        {props.children}
      </div>
    </section>
  )
}
