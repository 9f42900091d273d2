import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { defaultStringifySearch, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { createShare, fetchShares, revokeShare } from '../../lib/api/shares.ts'
import { stateOf } from '../../lib/link-state.ts'
import { exact } from '../../lib/words.ts'
import { Button, Choice } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { EmbedCodes } from '../../ui/embed-codes.tsx'
import { Failure } from '../../ui/notice.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { readShareSearch, SHARE_TABS } from '../share/search.ts'

const DAY_MS = 86_400_000

/** Creates share links of the batch, which are shown once, and revokes them. */
export function ShareBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const queries = useQueryClient()
  const queryKey = ['shares', batch.id]
  const shares = useQuery({ queryKey, queryFn: () => fetchShares(batch.id) })
  const [days, setDays] = useState('30')
  const [anonymous, setAnonymous] = useState(false)
  const [files, setFiles] = useState(true)
  const [embed, setEmbed] = useState(false)
  const view = useShownView()
  const refresh = () => queries.invalidateQueries({ queryKey })
  const make = useMutation({
    mutationFn: async () => {
      const made = await createShare(batch.id, {
        anonymous,
        files,
        embed,
        ...(days !== 'never' && {
          expires_at: new Date(Date.now() + Number(days) * DAY_MS).toISOString().replace(/\.\d+/, ''),
        }),
      })
      // The settings of the page may hold names that an anonymous link hides.
      return { ...made, embed, url: anonymous ? made.url : made.url + view }
    },
    onSuccess: () => void refresh(),
  })
  const [revoking, setRevoking] = useState<string | null>(null)
  const revoke = useMutation({
    mutationFn: revokeShare,
    onSuccess: (_, id) => {
      // Hides a revoked link, so that it is not copied.
      if (make.data?.id === id) make.reset()
      setRevoking(null)
      return refresh()
    },
  })
  const failed = make.error ?? revoke.error ?? shares.error
  return (
    <Dialog title="Share this batch" onClose={onClose} size="wide">
      <p className="text-muted">Anyone with a link can read this one batch, live, without signing in.</p>
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
        <label className="flex h-7 items-center gap-1.5">
          <input
            type="checkbox"
            checked={anonymous}
            onChange={(event) => {
              setAnonymous(event.target.checked)
              // Files may hold names: they are shown only if that is chosen after this.
              if (event.target.checked) setFiles(false)
            }}
          />
          hide names, host, paths, tracebacks and log lines
        </label>
        <label className="flex h-7 items-center gap-1.5">
          <input type="checkbox" checked={files} onChange={(event) => setFiles(event.target.checked)} />
          show files and media
        </label>
        <label className="flex h-7 items-center gap-1.5">
          <input type="checkbox" checked={embed} onChange={(event) => setEmbed(event.target.checked)} />
          other sites may show it
        </label>
        <Button look="primary" disabled={make.isPending} onClick={() => make.mutate()}>
          Make a link
        </Button>
      </div>
      {failed && <Failure>{errorText(failed)}</Failure>}
      {make.data && (
        <div className="flex flex-wrap items-center gap-2 rounded border border-line bg-surface p-2">
          <code data-share-url className="min-w-0 flex-1 font-mono text-xs break-all">
            {make.data.url}
          </code>
          <Copy text={make.data.url} />
          <p className="w-full text-xs text-muted">
            Copy it now: it is shown only once.
            {make.data.url.includes('?') && ' It opens with the settings of this page.'}
          </p>
          {make.data.embed && <EmbedCodes token={make.data.token} link={make.data.url} />}
        </div>
      )}
      {(shares.data?.items.length ?? 0) > 0 && (
        <ul className="divide-y divide-line border-y border-line">
          {shares.data?.items.map((share) => (
            <li key={share.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
              <span className="flex-1">
                {share.id === make.data?.id ? 'The link above, made' : 'Made'} by {share.created_by.name}{' '}
                <RelativeTime at={share.created_at} />
                {share.anonymous && ', anonymous'}
                {share.embed && ', for other sites'}
                <span className="text-muted">, {stateOf(share)}</span>
              </span>
              {revoking !== share.id ? (
                <Button
                  look="danger"
                  aria-label={`Revoke the link made ${exact(share.created_at)}`}
                  onClick={() => setRevoking(share.id)}
                >
                  Revoke
                </Button>
              ) : (
                <span
                  role="group"
                  aria-label="Revoke this link?"
                  className="flex flex-wrap items-center gap-2"
                >
                  Open pages lose access immediately.
                  <Button autoFocus onClick={() => setRevoking(null)}>
                    Keep it
                  </Button>
                  <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate(share.id)}>
                    Revoke it
                  </Button>
                </span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  )
}

/** What the page shows now, as search parameters of a share; empty for tabs that shares have not. */
function useShownView(): string {
  const { pathname, search } = useRouterState({ select: (state) => state.location })
  const [, , , tab = 'charts', ...more] = pathname.replace(/\/$/, '').split('/')
  if (more.length > 0 || !SHARE_TABS.some((one) => one === tab)) return ''
  return defaultStringifySearch(readShareSearch({ ...search, tab }))
}
