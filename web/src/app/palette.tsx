import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { useEffect, useMemo, useState } from 'react'
import { fetchBatches, type Job, type Status } from '../lib/api/batches.ts'
import { type FoundJob, findJobs } from '../lib/api/find-jobs.ts'
import type { User } from '../lib/api/identity.ts'
import type { Page } from '../lib/api/request.ts'
import { batchName } from '../lib/batch-name.ts'
import { bestFuzzy } from '../lib/fuzzy.ts'
import { links } from '../lib/links.ts'
import { batchStore } from '../lib/live/batches.ts'
import { openView } from '../lib/open-view.ts'
import { projectsQuery, useMe, viewsQuery } from '../lib/queries.ts'
import { chooseTheme } from '../lib/theme.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Name } from '../ui/name.tsx'
import { StatusShape } from '../ui/status.tsx'
import { signOutAndLeave } from './leave.ts'
import { takeTyped } from './typed-ahead.ts'

interface Entry {
  kind: string
  title: string
  note?: string | undefined
  status?: Status
  run: () => void
}
const MAX_SHOWN = 14
const NONE: never[] = []
const LOOKED_AT = 2_000

/** The command palette: fuzzy search over all pages and actions. */
export function Palette({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState(takeTyped)
  const wanted = useDebounced(queryOf(text))
  const found = useQuery({
    queryKey: ['palette', wanted],
    enabled: wanted !== '',
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const page = await fetchBatches({ where: [wanted] }, { limit: 10 })
      batchStore.put(page.items)
      return page.items.map((batch) => batch.id)
    },
  })
  const jobs = useQuery({
    queryKey: ['palette jobs', wanted],
    enabled: wanted !== '',
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) => findJobs(wanted, signal),
  })
  const all = useEntries(found.data ?? NONE, jobs.data ?? NONE)
  const shown = useMemo(
    () => bestFuzzy(all, text, (entry) => `${entry.title} ${entry.note ?? ''} ${entry.kind}`, MAX_SHOWN),
    [all, text],
  )
  const run = (entry: Entry): void => {
    onClose()
    entry.run()
  }
  return (
    <Dialog title="Go to" onClose={onClose} size="wide">
      <Command shouldFilter={false} loop label="Search projects, batches, jobs, pages and actions">
        <Command.Input
          autoFocus
          placeholder="A project, batch, job, page or action"
          className="h-9 w-full rounded-md border border-line-strong bg-bg px-2"
          value={text}
          onValueChange={setText}
        />
        <Command.List label="Found" className="max-h-[50vh] overflow-y-auto py-2">
          {shown.map((entry) => (
            <Found key={entryKey(entry)} entry={entry} onRun={() => run(entry)} />
          ))}
        </Command.List>
      </Command>
      {shown.length === 0 && (
        <p role="status" className="px-2 text-muted">
          {found.isFetching || jobs.isFetching ? 'Searching …' : 'No results.'}
        </p>
      )}
      <p className="text-xs text-muted">↑ ↓ to choose, Enter to open, Esc to close</p>
    </Dialog>
  )
}

/** A query for what has all words, each as text. */
const queryOf = (text: string): string =>
  text
    .replaceAll('"', ' ')
    .split(/\s+/)
    .filter((word) => word.length > 1)
    .map((word) => `"${word}"`)
    .join(' ')

const entryKey = ({ kind, title, note }: Entry): string => `${kind} ${title} ${note ?? ''}`

function Found({ entry, onRun }: { entry: Entry; onRun: () => void }) {
  return (
    <Command.Item
      value={entryKey(entry)}
      className="flex cursor-pointer items-center gap-2 rounded-md px-2 py-1.5 data-[selected=true]:bg-accent-soft"
      onSelect={onRun}
    >
      {entry.status && <StatusShape status={entry.status} />}
      <span className="min-w-0 truncate">
        <Name>{entry.title}</Name>
      </span>
      <span className="min-w-0 flex-1 truncate text-xs text-muted">
        {entry.note && <Name>{entry.note}</Name>}
      </span>
      <span className="text-xs text-muted">{entry.kind}</span>
    </Command.Item>
  )
}

/** The debounced value. */
function useDebounced(value: string): string {
  const [debounced, setDebounced] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setDebounced(value), 150)
    return () => clearTimeout(timer)
  }, [value])
  return debounced
}

function pagesFor(me: User | null | undefined, navigate: ReturnType<typeof useNavigate>): Entry[] {
  const page = (title: string, run: () => void): Entry => ({ kind: 'page', title, run })
  const pages: Entry[] = [page('Home', () => void navigate(links.home()))]
  if (me) {
    pages.push(
      page('Hosts', () => void navigate(links.hosts())),
      page('Connect a script', () => void navigate(links.connect())),
      page('Tokens', () => void navigate(links.tokens())),
      page('Trash', () => void navigate(links.trash())),
      page('Account', () => void navigate(links.account())),
    )
  }
  if (me?.role === 'admin') {
    pages.push(
      page('Users', () => void navigate(links.users())),
      page('Agents', () => void navigate(links.agents())),
      page('Signing keys', () => void navigate(links.keys())),
      page('Audit log', () => void navigate(links.audit())),
    )
  }
  return pages
}

function actionsFor(me: User | null | undefined, signOut: () => Promise<unknown>): Entry[] {
  const act = (title: string, run: () => void): Entry => ({ kind: 'action', title, run })
  return [
    act('Dark theme', () => chooseTheme('dark')),
    act('Light theme', () => chooseTheme('light')),
    act('System theme', () => chooseTheme('system')),
    ...(me ? [act('Sign out', () => void signOut())] : []),
  ]
}

function useEntries(batchIds: readonly string[], jobs: readonly FoundJob[]): Entry[] {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const me = useMe()
  const views = useQuery({ ...viewsQuery, enabled: me !== null && me !== undefined }).data
  const projects = useQuery(projectsQuery).data
  return useMemo(() => {
    const known = [...new Set([...batchIds, ...[...batchStore.ids()].reverse().slice(0, LOOKED_AT)])]
    return [
      ...(projects ?? []).map(
        ({ slug, display_name: title }): Entry => ({
          kind: 'project',
          title,
          note: slug === title ? undefined : slug,
          run: () => void navigate(links.project(slug)),
        }),
      ),
      ...(views ?? []).map(
        (view): Entry => ({
          kind: 'view',
          title: view.title,
          note: view.project ?? undefined,
          run: () => void navigate(openView(view)),
        }),
      ),
      ...pagesFor(me, navigate),
      ...actionsFor(me, () => signOutAndLeave(queries, () => navigate(links.signIn()))),
      ...known.flatMap((id): Entry[] => {
        const batch = batchStore.get(id)
        if (batch === undefined || batch.deleted_at !== undefined) return []
        return [
          {
            kind: 'batch',
            title: batchName(batch),
            note: batch.name === null ? batch.project : `${id} · ${batch.project}`,
            status: batch.status,
            run: () => void navigate(links.batch(id)),
          },
        ]
      }),
      ...knownJobs(queries, jobs).map(
        (job): Entry => ({
          kind: 'job',
          title: job.id,
          note: job.batch_id,
          status: job.status,
          run: () => void navigate(links.job(job.batch_id, job.id)),
        }),
      ),
    ]
  }, [navigate, queries, me, views, projects, batchIds, jobs])
}

/** Jobs found by the server, jobs of batches visited before, and running jobs. */
function knownJobs(
  queries: ReturnType<typeof useQueryClient>,
  found: readonly FoundJob[],
): readonly FoundJob[] {
  const lists = queries.getQueriesData<Job[]>({ queryKey: ['jobs'] }).map(([, jobs]) => jobs)
  const running = queries.getQueryData<Page<Job>>(['running-jobs'])?.items
  const nameOf = (job: FoundJob): string => `${job.batch_id}\n${job.id}`
  const all = new Map(found.map((job) => [nameOf(job), job]))
  for (const job of [...lists, running].flatMap((jobs) => (Array.isArray(jobs) ? jobs : [])))
    all.set(nameOf(job), job)
  return [...all.values()].slice(0, LOOKED_AT)
}
