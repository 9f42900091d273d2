import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { endBatch } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { Button } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { showToast } from '../../ui/toasts.tsx'

/** Ends a batch whose reporter did not end it. */
export function EndBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const end = useMutation({
    mutationFn: (status: 'failed' | 'stopped') =>
      endBatch(batch.id, { status, ...(reason.trim() !== '' && { reason: reason.trim() }) }),
    onSuccess: (ended) => {
      batchStore.put([ended])
      showToast(`Marked as ${ended.status}.`)
      onClose()
    },
  })
  return (
    <Dialog title="Mark this batch as ended?" onClose={onClose}>
      <p className="text-muted">
        For a run whose process has ended. Nothing is stopped on its host. If its reporter sends further
        events, they are stored, and the batch is running again.
      </p>
      <label className="flex flex-col gap-1">
        Reason
        <input
          className="rounded border border-line bg-surface px-2 py-1"
          maxLength={500}
          value={reason}
          onChange={(event) => setReason(event.target.value)}
          placeholder="the host was switched off"
        />
      </label>
      {end.error && <Failure>{errorText(end.error)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>Cancel</Button>
        <Button disabled={end.isPending} onClick={() => end.mutate('stopped')}>
          Mark as stopped
        </Button>
        <Button look="danger" disabled={end.isPending} onClick={() => end.mutate('failed')}>
          Mark as failed
        </Button>
      </div>
    </Dialog>
  )
}
