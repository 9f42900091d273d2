import { useIsFetching, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Bookmark, KeyRound, type LucideIcon, Plug, Plus, Server, Trash2 } from 'lucide-react'
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { fetchBatches } from '../lib/api/batches.ts'
import type { User } from '../lib/api/identity.ts'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { projectsQuery, viewsQuery } from '../lib/queries.ts'
import { served } from '../lib/served.ts'
import { StatusShape } from '../ui/status.tsx'
import { useLater } from '../ui/use-later.ts'

const loadNewProject = () => import('./new-project.tsx').then((file) => file.NewProject)
const item = 'flex min-h-7 items-center gap-2 rounded-md px-2 py-1 text-muted hover:bg-hover hover:text-ink'
const active = { className: '!text-ink bg-bg font-medium ring-1 ring-line' }
const heading = 'px-2 pt-3 pb-1 text-2xs font-semibold text-muted'

/** The key of views that earlier versions kept in the browser. */
const OLD_PINS = 'pinned views'

/** The sidebar: projects with counts of running and failed batches. On phones and tablets it is a drawer. */
export function Rail({ me, open, onClose }: { me: User | null; open: boolean; onClose: () => void }) {
  const making = useLater(loadNewProject, 'This could not be loaded: the server cannot be reached.')
  const rail = useDrawer(open, onClose)
  return (
    <>
      {open && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-20 bg-black/40 lg:hidden"
          onClick={onClose}
        />
      )}
      <nav
        ref={rail}
        aria-label="Projects"
        className={`${open ? 'fixed inset-y-0 left-0 z-30 flex' : 'hidden'} w-56 shrink-0 flex-col gap-0.5 print:hidden! overflow-y-auto border-r border-line bg-surface p-2 lg:static lg:flex`}
      >
        <Link {...links.home()} className={item} activeProps={active} activeOptions={{ exact: true }}>
          <img src={served('/favicon.svg')} alt="" className="size-4" /> Home
        </Link>
        <Projects me={me} onNew={making.open} />
        {me && <Views key={me.id} me={me} />}
        {me && <SetUp />}
        {me?.role === 'admin' && <Administration />}
      </nav>
      {making.Part && <making.Part onClose={making.close} />}
    </>
  )
}

/** Moves focus into the drawer, and back when it closes, as in a dialog. */
function useDrawer(open: boolean, onClose: () => void) {
  const rail = useRef<HTMLElement>(null)
  useEffect(() => {
    if (!open) return
    const before = document.activeElement
    rail.current?.querySelector('a')?.focus()
    const press = ({ key }: KeyboardEvent) => key === 'Escape' && onClose()
    addEventListener('keydown', press)
    return () => {
      removeEventListener('keydown', press)
      if (before instanceof HTMLElement) before.focus()
    }
  }, [open, onClose])
  return rail
}

function Projects({ me, onNew }: { me: User | null; onNew: () => void }) {
  const projects = useQuery(projectsQuery)
  const counts = useCounts(me !== null)
  return (
    <>
      <div className="flex items-end justify-between">
        <p className={heading}>Projects</p>
        {me && (
          <button
            type="button"
            aria-label="New project"
            title="New project"
            aria-haspopup="dialog"
            className="rounded-sm p-1 text-muted hover:bg-hover hover:text-ink"
            onClick={onNew}
          >
            <Plus className="size-3.5" aria-hidden="true" />
          </button>
        )}
      </div>
      {projects.data?.length === 0 && <p className="px-2 text-muted">No projects yet</p>}
      {projects.data?.map((project) => (
        <Link key={project.slug} {...links.project(project.slug)} className={item} activeProps={active}>
          <span className="min-w-0 flex-1 truncate">{project.display_name}</span>
          <Count status="running" n={counts.running.get(project.slug)} said="running" />
          <Count status="failed" n={counts.failed.get(project.slug)} said="failed within a day" />
        </Link>
      ))}
    </>
  )
}

/** The saved views of the user. */
function Views({ me }: { me: User }) {
  const views = useQuery(viewsQuery).data?.filter((view) => view.owner?.id === me.id)
  const navigate = useNavigate()
  const queries = useQueryClient()
  useEffect(() => {
    if (localStorage.getItem(OLD_PINS) === null) return
    void import('../lib/move-pins.ts').then(async ({ movePins }) => {
      const moved = await movePins(OLD_PINS)
      if (moved) void queries.invalidateQueries({ queryKey: ['views'] })
    })
  }, [queries])
  return (
    <>
      {views && views.length > 0 && <p className={heading}>My views</p>}
      {views?.map((view) => (
        <a
          key={view.id}
          href={served(view.path)}
          className={item}
          title={view.project ? `${view.title}, of ${view.project}` : view.title}
          onClick={(event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return
            event.preventDefault()
            // Its code has the colours of charts, which this page may not have.
            void import('../lib/open-view.ts').then(
              ({ openView }) => navigate(openView(view)),
              () => location.assign(served(view.path)),
            )
          }}
        >
          <Icon of={Bookmark} />
          <span className="truncate">{view.title}</span>
        </a>
      ))}
    </>
  )
}

const SetUp = () => (
  <>
    <p className={heading}>Set up</p>
    <Link {...links.connect()} className={item} activeProps={active}>
      <Icon of={Plug} /> Connect a script
    </Link>
    <Link {...links.tokens()} className={item} activeProps={active}>
      <Icon of={KeyRound} /> Tokens
    </Link>
    <Link {...links.hosts()} className={item} activeProps={active}>
      <Icon of={Server} /> Hosts
    </Link>
    <Link {...links.trash()} className={item} activeProps={active}>
      <Icon of={Trash2} /> Trash
    </Link>
  </>
)

const Administration = () => (
  <>
    <p className={heading}>Administration</p>
    <Link {...links.users()} className={item} activeProps={active}>
      Users
    </Link>
    <Link {...links.agents()} className={item} activeProps={active}>
      Agents
    </Link>
    <Link {...links.keys()} className={item} activeProps={active}>
      Signing keys
    </Link>
    <Link {...links.audit()} className={item} activeProps={active}>
      Audit log
    </Link>
  </>
)

const Icon = ({ of: Shape }: { of: LucideIcon }) => <Shape className="size-3.5" aria-hidden="true" />

function Count({
  status,
  n = 0,
  said,
}: {
  status: 'running' | 'failed'
  n?: number | undefined
  said: string
}) {
  if (n === 0) return null
  return (
    <span
      title={`${n} ${said}`}
      className={`flex items-center gap-1 text-xs ${status === 'running' ? 'text-running' : 'text-failed'}`}
    >
      <StatusShape status={status} />
      {n}
      <span className="sr-only"> {said}</span>
    </span>
  )
}

const IDLE_MS = 200
/** True once the page has loaded its data, so that the sidebar's counts do not delay it. */
function useIdle(): boolean {
  const reading = useIsFetching() > 0
  const [isIdle, setIsIdle] = useState(false)
  useEffect(() => {
    if (reading || isIdle) return
    const timer = setTimeout(() => setIsIdle(true), IDLE_MS)
    return () => clearTimeout(timer)
  }, [reading, isIdle])
  return isIdle
}

const DAY_MS = 86_400_000

/** The number of running batches and of batches that failed within a day, by project. */
function useCounts(known: boolean): { running: Map<string, number>; failed: Map<string, number> } {
  useQuery({
    queryKey: ['counted'],
    enabled: useIdle() && known,
    queryFn: async () => {
      const pages = await Promise.all([
        fetchBatches({ status: ['running'] }, { limit: 500 }),
        fetchBatches({ status: ['failed'] }, { limit: 100 }),
      ])
      for (const page of pages) batchStore.put(page.items)
      return true
    },
  })
  // A string, so that messages that change no count do not render again.
  const said = useSyncExternalStore(batchStore.onAny, countsText)
  return useMemo(() => {
    const [running, failed] = JSON.parse(said) as [string, number][][]
    return { running: new Map(running), failed: new Map(failed) }
  }, [said])
}

function countsText(): string {
  const since = Date.now() - DAY_MS
  const running = new Map<string, number>()
  const failed = new Map<string, number>()
  for (const { project, status, stalled, deleted_at, ended_at, last_seen_at } of batchStore.all()) {
    if (deleted_at || stalled || (status !== 'running' && status !== 'failed')) continue
    if (status === 'failed' && Date.parse(ended_at ?? last_seen_at) <= since) continue
    const of = status === 'running' ? running : failed
    of.set(project, (of.get(project) ?? 0) + 1)
  }
  return JSON.stringify([[...running], [...failed]])
}
