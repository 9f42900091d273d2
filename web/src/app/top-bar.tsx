import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useRouterState } from '@tanstack/react-router'
import { DropdownMenu } from 'radix-ui'
import { signOut } from '../lib/api/identity.ts'
import { sayWhy } from '../lib/api/request.ts'
import type { User } from '../lib/api/types.ts'
import { links } from '../lib/links.ts'
import { reconnect, useStreamState } from '../lib/live/stream.ts'
import { useBatch } from '../lib/queries.ts'
import { type Choice, chooseTheme, useThemeChoice } from '../lib/theme.ts'
import { Button, buttonLook } from '../ui/controls.tsx'
import { tell } from '../ui/toasts.tsx'

/** Where one is, whether the page is live, and who one is. */
export function TopBar({ me, onMenu }: { me: User | null | undefined; onMenu: () => void }) {
  const path = useRouterState({ select: (state) => state.location.href })
  return (
    <header className="flex h-11 shrink-0 items-center gap-2 border-b border-line px-3">
      <Button look="quiet" className="md:hidden" aria-label="Open the menu" onClick={onMenu}>
        ☰
      </Button>
      <Breadcrumb />
      <span className="flex-1" />
      <Live />
      {me && <UserMenu me={me} />}
      {me === null && (
        <Link {...links.signIn(path)} className={buttonLook('primary')}>
          Sign in
        </Link>
      )}
    </header>
  )
}

const PLACES: Record<string, string> = {
  '/': 'Home',
  '/connect': 'Connect a script',
  '/tokens': 'Tokens',
  '/compare': 'Compare',
  '/admin/users': 'Users',
  '/admin/keys': 'Signing keys',
  '/admin/audit': 'Audit log',
}

function Breadcrumb() {
  const { slug, batchId } = useParams({ strict: false })
  const path = useRouterState({ select: (state) => state.location.pathname })
  const batch = useBatch(batchId ?? '')
  const project = slug ?? batch?.project
  return (
    <nav aria-label="Breadcrumb" className="flex min-w-0 items-center gap-1.5 text-muted">
      {project === undefined && batchId === undefined && <span className="text-ink">{PLACES[path]}</span>}
      {project !== undefined && (
        <Link {...links.project(project)} className="max-w-48 truncate hover:text-ink hover:underline">
          {project}
        </Link>
      )}
      {batchId !== undefined && (
        <>
          <span aria-hidden="true">/</span>
          <Link {...links.batch(batchId)} className="min-w-0 truncate text-ink hover:underline">
            {batchId}
          </Link>
        </>
      )}
    </nav>
  )
}

const SAID = {
  idle: ['bg-line-strong', 'nothing to follow'],
  connecting: ['bg-amber', 'catching up'],
  live: ['bg-completed', 'live'],
  offline: ['bg-failed', 'offline'],
} as const

function Live() {
  const [colour, word] = SAID[useStreamState()]
  if (word === SAID.idle[1]) return null
  return (
    <span role="status" className="flex items-center gap-1.5 whitespace-nowrap text-xs text-muted">
      <span className={`size-2 rounded-full ${colour}`} aria-hidden="true" />
      <span data-stream>{word}</span>
    </span>
  )
}

const CHOICES: readonly Choice[] = ['system', 'light', 'dark']
const entry =
  'flex cursor-pointer items-center justify-between rounded px-2 py-1 outline-none data-highlighted:bg-hover'

function UserMenu({ me }: { me: User }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const theme = useThemeChoice()
  const leave = async (): Promise<void> => {
    try {
      await signOut()
    } catch (error) {
      return tell(sayWhy(error), { bad: true })
    }
    queries.clear()
    reconnect()
    await navigate(links.signIn())
  }
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger className={buttonLook('quiet')} aria-label={`Account of ${me.name}`}>
        <span className="max-w-32 truncate">{me.name}</span>
        <span aria-hidden="true">▾</span>
      </DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-30 min-w-48 rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          <p className="px-2 py-1 text-xs text-muted">{me.email}</p>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => chooseTheme(value as Choice)}>
            {CHOICES.map((choice) => (
              <DropdownMenu.RadioItem key={choice} value={choice} className={entry}>
                {choice === 'system'
                  ? 'Colours of the system'
                  : `${choice === 'dark' ? 'Dark' : 'Light'} colours`}
                <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item className={entry} onSelect={() => void leave()}>
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
