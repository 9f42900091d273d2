import { Link, Outlet } from '@tanstack/react-router'
import { links } from '../lib/links.ts'
import { useMe } from '../lib/queries.ts'
import { buttonLook } from '../ui/controls.tsx'
import { Notice, Waiting } from '../ui/notice.tsx'

/** Pages for administrators. The service refuses their data to other users. */
export function RequireAdmin() {
  const me = useMe()
  if (!me) return <Waiting />
  if (me.role === 'admin') return <Outlet />
  return (
    <Notice title="Only administrators see this page" bad>
      <p>Your account, {me.email}, is an ordinary one. Any administrator can change that.</p>
      <Link {...links.home()} className={buttonLook()}>
        Home
      </Link>
    </Notice>
  )
}
