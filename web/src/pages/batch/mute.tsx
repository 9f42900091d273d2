import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { DropdownMenu } from 'radix-ui'
import type { Batch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { fetchMute, setMute } from '../../lib/api/rules.ts'
import { showToast } from '../../ui/toasts.tsx'

/**
 * Mutes mail about this batch for all recipients. The state is fetched when the menu opens; not shown to users who may
 * not see it.
 */
export function MuteEntry({ batch }: { batch: Batch }) {
  const queries = useQueryClient()
  const queryKey = ['mute', batch.id]
  const { data } = useQuery({ queryKey, queryFn: () => fetchMute(batch.id), retry: false, staleTime: 0 })
  const put = (muted: boolean): void => {
    queries.setQueryData(queryKey, { muted })
  }
  const toggle = useMutation({
    mutationFn: (muted: boolean) => setMute(batch.id, muted),
    onMutate: put,
    onSuccess: ({ muted }) => {
      put(muted)
      showToast(
        muted
          ? 'Muted: rules send no mail about this batch.'
          : 'No longer muted: rules send mail about this batch again.',
        { action: { label: 'Undo', run: () => toggle.mutate(!muted) } },
      )
    },
    onError: (error, muted) => {
      put(!muted)
      showToast(`The batch is not ${muted ? 'muted' : 'mailed of again'}: ${errorText(error)}`, { bad: true })
    },
  })
  return (
    <>
      <DropdownMenu.CheckboxItem
        checked={data?.muted ?? false}
        disabled={data === undefined}
        onCheckedChange={(muted) => toggle.mutate(muted)}
        className="flex cursor-pointer items-center justify-between gap-4 rounded px-2 py-1 outline-none data-disabled:opacity-60 data-highlighted:bg-hover"
      >
        Mute: no mail about this batch
        <DropdownMenu.ItemIndicator>✓</DropdownMenu.ItemIndicator>
      </DropdownMenu.CheckboxItem>
      <DropdownMenu.Separator className="my-1 h-px bg-line" />
    </>
  )
}
