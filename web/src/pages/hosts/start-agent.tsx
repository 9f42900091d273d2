import { Link } from '@tanstack/react-router'
import { installCommand } from '../../lib/install-command.ts'
import { links } from '../../lib/links.ts'
import { serviceAddress } from '../../lib/served.ts'
import { Code } from '../../ui/copy.tsx'

/** How to start an agent, with the URL of this service. */
export function StartAgent({ first = false }: { first?: boolean }) {
  return (
    <section aria-label="Start an agent" className="flex max-w-3xl flex-col gap-3">
      {first && <h2 className="text-base font-medium">No agent has registered yet</h2>}
      <p className="text-muted">
        On the machine that trains, with Python 3.10 or newer.{' '}
        <Link {...links.tokens()} className="text-accent underline">
          Make a reporter token
        </Link>{' '}
        and put it instead of <code className="font-mono text-xs">em_live_…</code>; it is needed only once,
        the agent then has a token of its own.
      </p>
      <Code
        label="Commands that start an agent"
        text={`${installCommand('svc-agent', serviceAddress())}
svc-agent register --svc-url ${serviceAddress()} --hostname "$(hostname)" --token em_live_…
svc-agent run
`}
      />
      <p className="text-muted">
        Processes that the agent started keep running when it stops. The host name must be the one that
        batches report, because a rerun goes to the host that the batch ran on. This page shows the host as
        soon as it registers.
      </p>
    </section>
  )
}
