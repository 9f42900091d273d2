import { useQuery } from '@tanstack/react-query'
import { Link, useParams, useRouterState } from '@tanstack/react-router'
import { Menu, Search } from 'lucide-react'
import type { User } from '../lib/api/identity.ts'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { useRowPart } from '../lib/live/row-store.ts'
import { useStreamState } from '../lib/live/stream.ts'
import { Button, buttonLook } from '../ui/controls.tsx'
import { Name, wholeName } from '../ui/name.tsx'
import { OpenLater } from '../ui/open-later.tsx'
import { Bell } from './bell.tsx'
import { PAGES, pageOfProject } from './places.ts'
import { userButton } from './user-button.tsx'

const userMenu = () => import('./user-menu.tsx').then((file) => file.UserMenu)

/** Breadcrumbs, the connection state, and the account menu. */
export function TopBar(props: { me: User | null | undefined; onMenu: () => void; onPalette: () => void }) {
  const { me, onMenu, onPalette } = props
  const path = useRouterState({ select: (state) => state.location.href })
  return (
    <header className="flex print:hidden h-12 shrink-0 items-center gap-2 border-b border-line px-3">
      <Button look="quiet" className="lg:hidden" aria-label="Open the menu" onClick={onMenu}>
        <Menu className="size-4" aria-hidden="true" />
      </Button>
      <Breadcrumb />
      <span className="flex-1" />
      <Button onClick={onPalette} title="Search everything" className="text-muted">
        <Search className="size-3.5" aria-hidden="true" />
        <span className="max-sm:sr-only">Search</span>
        <span aria-hidden="true" className="rounded-sm border border-line px-1 text-2xs max-sm:hidden">
          Ctrl K
        </span>
      </Button>
      <Live />
      {me && me.second_factor_required !== true && <Bell />}
      {me && <OpenLater load={userMenu} given={{ me }} {...userButton(me)} />}
      {me === null && (
        <Link {...links.signIn(path)} className={buttonLook('primary')}>
          Sign in
        </Link>
      )}
    </header>
  )
}

function Breadcrumb() {
  const { slug, batchId, hostId, reportId } = useParams({ strict: false })
  const path = useRouterState({ select: (state) => state.location.pathname })
  const of = useRowPart(batchStore, batchId ?? '', (batch) => batch?.project)
  const name = useRowPart(batchStore, batchId ?? '', (batch) => batch?.name)
  // The page of a report reads it; here it is only looked up.
  const report = useQuery<{ project: string }>({ queryKey: ['report', reportId], enabled: false }).data
  const project = slug ?? of ?? report?.project
  const ofProject = pageOfProject(path)
  return (
    <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1.5 text-muted">
      {project === undefined && batchId === undefined && hostId === undefined && (
        <span className="text-ink">{PAGES[path]}</span>
      )}
      {hostId !== undefined && (
        <Link {...links.hosts()} className="hover:text-ink hover:underline">
          Hosts
        </Link>
      )}
      {project !== undefined && (
        <Link
          {...links.project(project)}
          title={project}
          // Cut down to some letters; a minimum would leave a gap after a short name.
          className={`max-w-48 ${project.length > 7 ? 'min-w-12 shrink-3' : 'shrink-0'} truncate hover:text-ink hover:underline`}
        >
          {project}
        </Link>
      )}
      {report !== undefined && (
        <>
          <span aria-hidden="true">/</span>
          <Link {...links.reports(report.project)} className="text-ink hover:underline">
            Reports
          </Link>
        </>
      )}
      {ofProject !== undefined && (
        <>
          <span aria-hidden="true">/</span>
          <span className="text-ink">{ofProject}</span>
        </>
      )}
      {batchId !== undefined && (
        <>
          {project !== undefined && <span aria-hidden="true">/</span>}
          <Link
            {...links.batch(batchId)}
            title={batchId}
            aria-label={wholeName(name ?? batchId)}
            className="min-w-0 truncate text-ink hover:underline"
          >
            <Name>{name ?? batchId}</Name>
          </Link>
        </>
      )}
    </nav>
  )
}

const STATE_LABELS = {
  idle: ['bg-line-strong', 'nothing to follow'],
  connecting: ['bg-amber', 'catching up'],
  live: ['bg-completed', 'live'],
  offline: ['bg-failed', 'offline'],
} as const

function Live() {
  const [colour, word] = STATE_LABELS[useStreamState()]
  if (word === STATE_LABELS.idle[1]) return null
  return (
    <span role="status" className="flex items-center gap-1.5 whitespace-nowrap text-xs text-muted">
      <span className={`size-2 rounded-full ${colour}`} aria-hidden="true" />
      <span data-stream>{word}</span>
    </span>
  )
}
