import { useMutation } from '@tanstack/react-query'
import { DropdownMenu } from 'radix-ui'
import { type Batch, changeBatch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { batchStore } from '../../lib/live/batches.ts'
import { showToast } from '../../ui/toasts.tsx'

/** Hides a batch from lists, or shows it again. */
export function ArchiveEntry({ batch }: { batch: Batch }) {
  const toggle = useMutation({
    mutationFn: (archived: boolean) => changeBatch(batch.id, { archived }),
    onSuccess: (changed) => {
      batchStore.put([changed])
      showToast(changed.archived ? 'Archived: hidden from lists.' : 'Shown in lists again.', {
        action: { label: 'Undo', run: () => toggle.mutate(!changed.archived) },
      })
    },
    onError: (error) => showToast(`Not changed: ${errorText(error)}`, { bad: true }),
  })
  return (
    <DropdownMenu.CheckboxItem
      checked={batch.archived}
      onCheckedChange={(archived) => toggle.mutate(archived)}
      className="flex cursor-pointer items-center justify-between gap-4 rounded px-2 py-1 outline-none data-highlighted:bg-hover"
    >
      Archive: hide from lists
      <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
    </DropdownMenu.CheckboxItem>
  )
}
