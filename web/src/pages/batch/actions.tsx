import { useNavigate } from '@tanstack/react-router'
import { DropdownMenu } from 'radix-ui'
import { useState } from 'react'
import { fetchBatch, restoreBatch, stopBatch } from '../../lib/api/batches.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Batch } from '../../lib/api/types.ts'
import { deleteWithUndo } from '../../lib/delete-batches.ts'
import { downloads, links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { tell } from '../../ui/toasts.tsx'
import { EditBatch } from './edit.tsx'
import { ShareBatch } from './share-dialog.tsx'

const entry = 'block cursor-pointer rounded px-2 py-1 outline-none data-highlighted:bg-hover'

/** What the caller may do to the batch now; what may not be done is not shown. */
export function BatchActions({ batch }: { batch: Batch }) {
  const navigate = useNavigate()
  const [open, setOpen] = useState<'stop' | 'share' | 'edit' | null>(null)
  const can = batch.can
  const close = (): void => setOpen(null)

  const stop = async (): Promise<void> => {
    close()
    batchStore.put([{ ...batch, stop_requested: true }])
    try {
      await stopBatch(batch.id)
      tell('Asked to stop. The script sees it within about 10 seconds.')
    } catch (error) {
      batchStore.put([{ ...batch, stop_requested: false }])
      tell(`Not stopped: ${sayWhy(error)}`, { bad: true })
    }
  }
  const restore = async (): Promise<void> => {
    try {
      await restoreBatch(batch.id)
      batchStore.put([await fetchBatch(batch.id)])
    } catch (error) {
      tell(`Not restored: ${sayWhy(error)}`, { bad: true })
    }
  }
  return (
    <div className="flex flex-wrap items-center gap-1.5">
      {batch.deleted_at && <Button onClick={() => void restore()}>Restore</Button>}
      {can?.stop && !batch.stop_requested && <Button onClick={() => setOpen('stop')}>Stop</Button>}
      {can?.edit && <Button onClick={() => setOpen('edit')}>Tags and notes</Button>}
      {can?.share && <Button onClick={() => setOpen('share')}>Share</Button>}
      <DropdownMenu.Root modal={false}>
        <DropdownMenu.Trigger className={buttonLook()}>Export ▾</DropdownMenu.Trigger>
        <DropdownMenu.Portal>
          <DropdownMenu.Content
            align="end"
            sideOffset={4}
            className="z-30 rounded-md border border-line bg-raised p-1 shadow-lg"
          >
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
          </DropdownMenu.Content>
        </DropdownMenu.Portal>
      </DropdownMenu.Root>
      {can?.delete && (
        <Button
          look="danger"
          title="Kept for 30 days"
          onClick={() => {
            void deleteWithUndo([batch.id], tell)
            void navigate(links.project(batch.project))
          }}
        >
          Delete
        </Button>
      )}
      {open === 'stop' && (
        <Dialog title="Stop this batch?" onClose={close}>
          <p className="text-muted">
            The script is told at its next look, within about 10 seconds, and ends by itself. What it reported
            is kept.
          </p>
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Let it run</Button>
            <Button look="danger" onClick={() => void stop()}>
              Stop it
            </Button>
          </div>
        </Dialog>
      )}
      {open === 'edit' && <EditBatch batch={batch} onClose={close} />}
      {open === 'share' && <ShareBatch batch={batch} onClose={close} />}
    </div>
  )
}
