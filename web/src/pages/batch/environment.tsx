import { getRouteApi, Link } from '@tanstack/react-router'
import { links } from '../../lib/links.ts'
import { useBatch } from '../../lib/queries.ts'
import { Copy } from '../../ui/copy.tsx'

const route = getRouteApi('/b/$batchId/environment')

/** Where and how it ran: what a rerun would run again. */
export function BatchEnvironment() {
  const batch = useBatch(route.useParams().batchId)
  if (batch === undefined) return null
  const { commit, command, cwd, hostname, ...more } = batch.env_snapshot ?? {}
  const rows: [string, unknown][] = [
    ['command', command ?? batch.command],
    ['working directory', cwd],
    ['host', hostname ?? batch.host],
    ['commit', commit ?? batch.commit],
    ['user', batch.user],
    ['experiment type', batch.experiment_type],
    ...Object.entries(more),
  ]
  const known = rows.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return (
    <div className="flex flex-col gap-4 p-4">
      {batch.rerun_of && (
        <p>
          A rerun of{' '}
          <Link {...links.batch(batch.rerun_of)} className="text-accent underline">
            {batch.rerun_of}
          </Link>
        </p>
      )}
      {known.length === 0 && <p className="text-muted">The script said nothing about its environment.</p>}
      <dl className="grid max-w-5xl gap-x-4 sm:grid-cols-[10rem_1fr]">
        {known.map(([name, value]) => {
          const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
          return (
            <div key={name} className="contents">
              <dt className="pt-2 text-muted sm:border-t sm:border-line sm:pb-2">{name}</dt>
              <dd className="flex items-start gap-2 pb-2 sm:border-t sm:border-line sm:pt-2">
                <pre className="min-w-0 flex-1 font-mono text-xs break-all whitespace-pre-wrap">{text}</pre>
                <Copy text={text} />
              </dd>
            </div>
          )
        })}
      </dl>
    </div>
  )
}
