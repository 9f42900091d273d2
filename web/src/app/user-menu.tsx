import { useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { DropdownMenu } from 'radix-ui'
import type { User } from '../lib/api/identity.ts'
import { links } from '../lib/links.ts'
import { served } from '../lib/served.ts'
import { type Choice, chooseTheme, useThemeChoice } from '../lib/theme.ts'
import { signOutAndLeave } from './leave.ts'
import { userButton } from './user-button.tsx'

const CHOICES: readonly Choice[] = ['system', 'light', 'dark']
const entry =
  'flex cursor-pointer items-center justify-between rounded px-2 py-1 outline-none data-highlighted:bg-hover'

/** The account menu: user, theme and sign-out. Initially open. */
export function UserMenu({ me }: { me: User }) {
  const queries = useQueryClient()
  const navigate = useNavigate()
  const theme = useThemeChoice()
  return (
    <DropdownMenu.Root modal={false} defaultOpen>
      <DropdownMenu.Trigger {...userButton(me)} />
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          className="z-30 min-w-48 rounded-md border border-line bg-raised p-1 shadow-lg"
        >
          <p className="px-2 py-1 text-xs text-muted">{me.email}</p>
          <DropdownMenu.Item className={entry} asChild>
            <Link {...links.account()}>Account</Link>
          </DropdownMenu.Item>
          <DropdownMenu.Item className={entry} asChild>
            <a href={served('/docs/')} target="_blank" rel="noreferrer">
              Documentation
            </a>
          </DropdownMenu.Item>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.RadioGroup value={theme} onValueChange={(value) => chooseTheme(value as Choice)}>
            {CHOICES.map((choice) => (
              <DropdownMenu.RadioItem key={choice} value={choice} className={entry}>
                {choice === 'system' ? 'System theme' : `${choice === 'dark' ? 'Dark' : 'Light'} theme`}
                <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
              </DropdownMenu.RadioItem>
            ))}
          </DropdownMenu.RadioGroup>
          <DropdownMenu.Separator className="my-1 h-px bg-line" />
          <DropdownMenu.Item
            className={entry}
            onSelect={() => void signOutAndLeave(queries, () => navigate(links.signIn()))}
          >
            Sign out
          </DropdownMenu.Item>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  )
}
