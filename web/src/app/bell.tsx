import { useQuery } from '@tanstack/react-query'
import { Bell as BellShape } from 'lucide-react'
import { Suspense } from 'react'
import { useChannel } from '../lib/live/stream.ts'
import { noticesQuery } from '../lib/queries.ts'
import { invalidateQueries } from '../lib/query-client.ts'
import { some } from '../lib/words.ts'
import { buttonLook } from '../ui/controls.tsx'
import { Waiting } from '../ui/notice.tsx'
import { part } from '../ui/part.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'

const NoticeList = part(() => import('./notice-list.tsx').then((file) => file.NoticeList))

/** What happened since the user looked: how much is unread, and the list. */
export function Bell() {
  const notices = useQuery(noticesQuery).data
  useChannel('notices', () => void invalidateQueries({ queryKey: noticesQuery.queryKey }))
  const unread = notices?.unread ?? 0
  return (
    <PopoverLater
      label="Notices"
      align="end"
      className="flex max-h-[min(36rem,80vh)] w-96 max-w-[calc(100vw-1rem)] flex-col"
      trigger={{
        className: `${buttonLook('quiet')} relative px-1.5`,
        'aria-label': unread === 0 ? 'Notices' : `Notices, ${some(unread, 'unread one')}`,
        children: (
          <>
            <BellShape className="size-4" aria-hidden="true" />
            {unread > 0 && (
              <span
                aria-hidden="true"
                className="absolute -top-0.5 left-3.5 min-w-4 rounded-full bg-accent px-1 text-center text-2xs leading-4 font-medium text-accent-ink tabular-nums"
              >
                {unread > 99 ? '99+' : unread}
              </span>
            )}
          </>
        ),
      }}
    >
      {(close) => (
        <Suspense fallback={<Waiting rows={3} />}>
          <NoticeList onLeave={close} />
        </Suspense>
      )}
    </PopoverLater>
  )
}
