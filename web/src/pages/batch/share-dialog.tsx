import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { sayWhy } from '../../lib/api/request.ts'
import { fetchShares, makeShare, revokeShare } from '../../lib/api/shares.ts'
import type { Batch } from '../../lib/api/types.ts'
import { exact } from '../../lib/words.ts'
import { Button, Choice } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'
import { When } from '../../ui/when.tsx'

const DAY_MS = 86_400_000

/** Public links to the batch: made here, shown once, revoked at once. */
export function ShareBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const queries = useQueryClient()
  const queryKey = ['shares', batch.id]
  const shares = useQuery({ queryKey, queryFn: () => fetchShares(batch.id) })
  const [days, setDays] = useState('30')
  const [anonymous, setAnonymous] = useState(false)
  const renew = () => queries.invalidateQueries({ queryKey })
  const make = useMutation({
    mutationFn: () =>
      makeShare(batch.id, {
        anonymous,
        ...(days !== 'never' && {
          expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString().replace(/\.\d+/, ''),
        }),
      }),
    onSuccess: renew,
  })
  const revoke = useMutation({ mutationFn: revokeShare, onSuccess: renew })
  const failed = make.error ?? revoke.error ?? shares.error
  return (
    <Dialog title="Share this batch" onClose={onClose} wide>
      <p className="text-muted">Whoever has a link reads this one batch, live, without signing in.</p>
      <div className="flex flex-wrap items-end gap-3">
        <Choice
          label="Ends"
          value={days}
          onChange={setDays}
          options={[
            ['7', 'in 7 days'],
            ['30', 'in 30 days'],
            ['never', 'when revoked'],
          ]}
        />
        <label className="flex h-8 items-center gap-1.5">
          <input
            type="checkbox"
            checked={anonymous}
            onChange={(event) => setAnonymous(event.target.checked)}
          />
          hide names, host, paths and log lines
        </label>
        <Button look="primary" className="h-8" disabled={make.isPending} onClick={() => make.mutate()}>
          Make a link
        </Button>
      </div>
      {failed && <Failure>{sayWhy(failed)}</Failure>}
      {make.data && (
        <div className="flex flex-wrap items-center gap-2 rounded border border-line bg-surface p-2">
          <code data-share-url className="min-w-0 flex-1 font-mono text-xs break-all">
            {make.data.url}
          </code>
          <Copy text={make.data.url} />
          <p className="w-full text-xs text-muted">Shown this once.</p>
        </div>
      )}
      {(shares.data?.items.length ?? 0) > 0 && (
        <ul className="divide-y divide-line border-y border-line">
          {shares.data?.items.map((share) => (
            <li key={share.id} className="flex items-center gap-3 py-1.5">
              <span className="flex-1">
                Made by {share.created_by.name} <When at={share.created_at} />
                {share.anonymous && ', anonymous'}
                <span className="text-muted">
                  {share.expires_at ? `, ends ${exact(share.expires_at)}` : ', until it is revoked'}
                </span>
              </span>
              <Button look="danger" onClick={() => revoke.mutate(share.id)}>
                Revoke
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}
