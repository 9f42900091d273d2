import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { ChevronDown, Pencil, RotateCw, Share2, Square, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { type Batch, fetchBatch, restoreBatch, stopBatch } from '../../lib/api/batches.ts'
import { fetchAgentOf } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import { deleteWithUndo } from '../../lib/delete-batches.ts'
import { daysText, useKeptDays } from '../../lib/kept.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { some } from '../../lib/words.ts'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { OpenLater } from '../../ui/open-later.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { useLater } from '../../ui/use-later.ts'
import { useControl } from './control.ts'
import { EndBatch } from './end-dialog.tsx'
import { Ladder } from './ladder.tsx'
import { stopPlan } from './stop-ladder.ts'

const sign = 'size-3.5'
const moreMenu = () => import('./more-menu.tsx').then((file) => file.MoreMenu)
const editDialog = () => import('./edit.tsx').then((file) => file.EditBatch)
const rerunDialog = () => import('./rerun-dialog.tsx').then((file) => file.RerunBatch)
const shareDialog = () => import('./share-dialog.tsx').then((file) => file.ShareBatch)
const SORRY = 'This could not be loaded: the server cannot be reached.'

/** The actions that the user may take on the batch now; others are not shown. */
export function BatchActions({ batch }: { batch: Batch }) {
  const navigate = useNavigate()
  const { jobs } = useBatchContext()
  const [open, setOpen] = useState<'stop' | 'delete' | 'end' | null>(null)
  const rerun = useLater(rerunDialog, SORRY)
  const edit = useLater(editDialog, SORRY)
  const share = useLater(shareDialog, SORRY)
  // Of a deleted batch only its restoration is possible.
  const can = batch.deleted_at ? undefined : batch.can
  const close = (): void => setOpen(null)

  const stop = async (): Promise<void> => {
    close()
    batchStore.put([{ ...batch, stop_requested: true }])
    try {
      await stopBatch(batch.id)
      showToast('Stop requested. Its steps are shown above the tabs.')
    } catch (error) {
      batchStore.put([{ ...batch, stop_requested: false }])
      showToast(`Not stopped: ${errorText(error)}`, { bad: true })
    }
  }
  const restore = async (): Promise<void> => {
    try {
      await restoreBatch(batch.id)
      batchStore.put([await fetchBatch(batch.id)])
    } catch (error) {
      showToast(`Not restored: ${errorText(error)}`, { bad: true })
    }
  }
  return (
    <div className="fade-end relative flex items-center gap-1.5 max-sm:order-last max-sm:w-full max-sm:overflow-x-auto max-sm:p-0.5">
      {batch.deleted_at && <Button onClick={() => void restore()}>Restore</Button>}
      {can?.stop && !batch.stop_requested && (
        <Button onClick={() => setOpen('stop')}>
          <Square className={sign} aria-hidden="true" /> Stop
        </Button>
      )}
      {can?.rerun && batch.status !== 'running' && (
        <Button onClick={rerun.open}>
          <RotateCw className={sign} aria-hidden="true" /> Rerun
        </Button>
      )}
      {can?.stop && (
        <Button className="max-sm:hidden" onClick={() => setOpen('end')}>
          Mark as ended
        </Button>
      )}
      {can?.edit && (
        <Button onClick={edit.open}>
          <Pencil className={sign} aria-hidden="true" /> <span className="max-sm:sr-only">Edit</span>
        </Button>
      )}
      {can?.share && (
        <Button onClick={share.open}>
          <Share2 className={sign} aria-hidden="true" /> Share
        </Button>
      )}
      {!batch.deleted_at && (
        <OpenLater load={moreMenu} given={{ batch, onEnd: () => setOpen('end') }} className={buttonLook()}>
          More <ChevronDown className="size-3.5" aria-hidden="true" />
        </OpenLater>
      )}
      {can?.delete && (
        <Button look="danger" title="It can be restored from the trash" onClick={() => setOpen('delete')}>
          <Trash2 className={sign} aria-hidden="true" /> <span className="max-sm:sr-only">Delete</span>
        </Button>
      )}
      {open === 'stop' && (
        <Dialog title="Stop this batch?" onClose={close}>
          {batch.status === 'lost' ? (
            <p className="text-muted">It has not reported for a long time: it is stopped immediately.</p>
          ) : (
            <StopPlan batch={batch} />
          )}
          <p className="text-muted">Its data is kept. A stop cannot be undone; the batch can be rerun.</p>
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Let it run</Button>
            <Button look="danger" onClick={() => void stop()}>
              Stop it
            </Button>
          </div>
        </Dialog>
      )}
      {open === 'end' && <EndBatch batch={batch} onClose={close} />}
      {rerun.Part && <rerun.Part batch={batch} jobs={jobs} first="all" onClose={rerun.close} />}
      {open === 'delete' && (
        <Dialog title="Delete this batch?" onClose={close}>
          <WhatGoes batch={batch} />
          <div className="flex justify-end gap-2">
            <Button onClick={close}>Keep it</Button>
            <Button
              look="danger"
              onClick={() => {
                close()
                void deleteWithUndo([batch.id], showToast)
                void navigate(links.project(batch.project))
              }}
            >
              Delete it
            </Button>
          </div>
        </Dialog>
      )}
      {edit.Part && <edit.Part batch={batch} onClose={edit.close} />}
      {share.Part && <share.Part batch={batch} onClose={share.close} />}
    </div>
  )
}

function WhatGoes({ batch }: { batch: Batch }) {
  const days = useKeptDays()
  return (
    <p className="text-muted">
      This deletes its {some(batch.slots.started, 'job')}, all curves, log lines and resources, and its shared
      links. It can be restored{days !== undefined && ` for ${daysText(days)}`}: by Undo now, and from the
      trash later.
      {batch.status === 'running' &&
        ' Its script keeps running, and its further events are stored in the deleted batch.'}
    </p>
  )
}

/** The steps of a stop, shown before it is requested. */
function StopPlan({ batch }: { batch: Batch }) {
  const control = useControl(batch.id).data
  const agent = useQuery({ queryKey: ['agent of', batch.id], queryFn: () => fetchAgentOf(batch.id) })
  if (control == null) return <p className="text-muted">The script receives it within about 10 seconds.</p>
  return <Ladder down rungs={stopPlan(batch, control, agent.data?.online === true)} />
}
