import { ChevronDown } from 'lucide-react'
import { DropdownMenu } from 'radix-ui'
import type { Batch } from '../../lib/api/batches.ts'
import { downloads } from '../../lib/links.ts'
import { OpenMenu } from '../../ui/open-menu.tsx'
import { ArchiveEntry } from './archive.tsx'
import { MuteEntry } from './mute.tsx'

const entry = 'block cursor-pointer rounded px-2 py-1 outline-none data-highlighted:bg-hover'

/** The menu of less common actions. Initially open. */
export function MoreMenu({ batch, onEnd }: { batch: Batch; onEnd: () => void }) {
  return (
    <OpenMenu
      label={
        <>
          More <ChevronDown className="size-3.5" aria-hidden="true" />
        </>
      }
      align="end"
    >
      {/* On wider screens it is a button beside this menu. */}
      {batch.can?.stop && (
        <DropdownMenu.Item className={`${entry} sm:hidden`} onSelect={onEnd}>
          Mark as ended
        </DropdownMenu.Item>
      )}
      {batch.can?.edit && <ArchiveEntry batch={batch} />}
      {batch.can?.edit && <MuteEntry batch={batch} />}
      <DropdownMenu.Label className="px-2 pt-1 text-xs text-muted">Export</DropdownMenu.Label>
      <DropdownMenu.Item asChild>
        <a className={entry} href={downloads.jobs(batch.id)} download>
          Jobs and final metrics, CSV
        </a>
      </DropdownMenu.Item>
      <DropdownMenu.Item asChild>
        <a className={entry} href={downloads.metrics(batch.id)} download>
          Every point, CSV
        </a>
      </DropdownMenu.Item>
      <DropdownMenu.Item asChild>
        <a className={entry} href={downloads.arrow(batch.id)} download>
          Every point, Arrow
        </a>
      </DropdownMenu.Item>
    </OpenMenu>
  )
}
