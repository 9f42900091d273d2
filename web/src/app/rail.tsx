import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { fetchBatches } from '../lib/api/batches.ts'
import type { Batch, User } from '../lib/api/types.ts'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { useLiveBatches } from '../lib/live/use-live-batches.ts'
import { projectsQuery } from '../lib/queries.ts'
import { StatusShape } from '../ui/status.tsx'

const item = 'flex items-center gap-2 rounded px-2 py-1 text-ink hover:bg-hover'
const active = { className: 'bg-accent-soft font-medium' }

/** The projects, each with what runs in it now. On a phone it comes in from the side. */
export function Rail({ me, open, onClose }: { me: User | null; open: boolean; onClose: () => void }) {
  const projects = useQuery(projectsQuery)
  const running = useRunning(me !== null)
  return (
    <>
      {open && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-20 bg-black/40 md:hidden"
          onClick={onClose}
        />
      )}
      <nav
        aria-label="Projects"
        className={`${open ? 'fixed inset-y-0 left-0 z-30 flex' : 'hidden'} w-56 shrink-0 flex-col gap-0.5 overflow-y-auto border-r border-line bg-surface p-2 md:static md:flex`}
      >
        <Link {...links.home()} className={item} activeProps={active} activeOptions={{ exact: true }}>
          <img src="/favicon.svg" alt="" className="size-4" /> Home
        </Link>
        <p className="px-2 pt-3 pb-1 text-xs text-muted">Projects</p>
        {projects.data?.length === 0 && <p className="px-2 text-muted">None yet</p>}
        {projects.data?.map((project) => (
          <Link key={project.slug} {...links.project(project.slug)} className={item} activeProps={active}>
            <span className="min-w-0 flex-1 truncate">{project.display_name}</span>
            {(running.get(project.slug) ?? 0) > 0 && (
              <span className="flex items-center gap-1 text-xs text-running">
                <StatusShape status="running" />
                {running.get(project.slug)}
                <span className="sr-only"> running</span>
              </span>
            )}
          </Link>
        ))}
        {me && (
          <>
            <p className="px-2 pt-3 pb-1 text-xs text-muted">Set up</p>
            <Link {...links.connect()} className={item} activeProps={active}>
              Connect a script
            </Link>
            <Link {...links.tokens()} className={item} activeProps={active}>
              Tokens
            </Link>
          </>
        )}
        {me?.role === 'admin' && (
          <>
            <p className="px-2 pt-3 pb-1 text-xs text-muted">Administration</p>
            <Link {...links.users()} className={item} activeProps={active}>
              Users
            </Link>
            <Link {...links.keys()} className={item} activeProps={active}>
              Signing keys
            </Link>
            <Link {...links.audit()} className={item} activeProps={active}>
              Audit log
            </Link>
          </>
        )}
      </nav>
    </>
  )
}

/** By project, how many batches run. */
function useRunning(known: boolean): Map<string, number> {
  useQuery({
    queryKey: ['running'],
    enabled: known,
    queryFn: async () => {
      const page = await fetchBatches({ status: ['running'] }, { limit: 500 })
      batchStore.put(page.items)
      return page.items.map((batch) => batch.id)
    },
  })
  const batches = useLiveBatches((batch: Batch) => batch.status === 'running' && !batch.deleted_at)
  const counts = new Map<string, number>()
  for (const { project } of batches) counts.set(project, (counts.get(project) ?? 0) + 1)
  return counts
}
