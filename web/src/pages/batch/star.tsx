import { useMutation } from '@tanstack/react-query'
import { Star as StarIcon } from 'lucide-react'
import { type Batch, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { showToast } from '../../ui/toasts.tsx'

/** The star of a batch; a button if the user may edit it. */
export function Star({ batch }: { batch: Batch }) {
  const toggle = useMutation({
    mutationFn: (starred: boolean) => changeBatch(batch.id, { starred }),
    onSuccess: (changed) => batchStore.put([changed]),
    onError: (error) => showToast(`The star was not changed: ${errorText(error)}`, { bad: true }),
  })
  const { starred } = batch
  const look = starred ? 'text-amber' : 'text-muted'
  if (!batch.can?.edit)
    return starred ? (
      <span role="img" aria-label="Starred" className={look}>
        <StarIcon className="size-4 fill-current" />
      </span>
    ) : null
  return (
    <button
      type="button"
      aria-pressed={starred}
      aria-label="Star"
      title={starred ? 'Remove the star' : 'Add a star'}
      disabled={toggle.isPending}
      onClick={() => toggle.mutate(!starred)}
      className={`rounded-sm p-1 hover:bg-hover ${look}`}
    >
      <StarIcon className={`size-4 ${starred ? 'fill-current' : ''}`} aria-hidden="true" />
    </button>
  )
}
