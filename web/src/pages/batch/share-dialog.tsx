import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { defaultStringifySearch, useRouterState } from '@tanstack/react-router'
import { useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { errorText } from '../../lib/api/request.ts'
import { createShare, fetchShares, revokeShare, type Share } from '../../lib/api/shares.ts'
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

/** Makes a link that opens what the page shows now. */
function useMake(
  batchId: string,
  { days, anonymous, files, embed }: { days: string; anonymous: boolean; files: boolean; embed: boolean },
) {
  const queries = useQueryClient()
  const view = useShownView()
  return useMutation({
    mutationFn: async () => {
      const made = await createShare(batchId, {
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
    onSuccess: () => void queries.invalidateQueries({ queryKey: ['shares', batchId] }),
  })
}

/** Revokes a link once that is confirmed. */
function useRevoke(batchId: string, onRevoked: (id: string) => void) {
  const queries = useQueryClient()
  const [revoking, setRevoking] = useState<string | null>(null)
  const revoke = useMutation({
    mutationFn: revokeShare,
    onSuccess: (_, id) => {
      onRevoked(id)
      setRevoking(null)
      return queries.invalidateQueries({ queryKey: ['shares', batchId] })
    },
  })
  return { revoke, revoking, setRevoking }
}

/** Creates share links of the batch, which are shown once, and revokes them. */
export function ShareBatch({ batch, onClose }: { batch: Batch; onClose: () => void }) {
  const shares = useQuery({ queryKey: ['shares', batch.id], queryFn: () => fetchShares(batch.id) })
  const [days, setDays] = useState('30')
  const [anonymous, setAnonymous] = useState(false)
  const [files, setFiles] = useState(true)
  const [embed, setEmbed] = useState(false)
  const make = useMake(batch.id, { days, anonymous, files, embed })
  // A revoked link is hidden, so that it is not copied.
  const { revoke, revoking, setRevoking } = useRevoke(batch.id, (id) => make.data?.id === id && make.reset())
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
        <Check
          label="hide names, host, paths, tracebacks and log lines"
          on={anonymous}
          onChange={(on) => {
            setAnonymous(on)
            // Files may hold names: they are shown only if that is chosen after this.
            if (on) setFiles(false)
          }}
        />
        <Check label="show files and media" on={files} onChange={setFiles} />
        <Check label="other sites may show it" on={embed} onChange={setEmbed} />
        <Button look="primary" disabled={make.isPending} onClick={() => make.mutate()}>
          Make a link
        </Button>
      </div>
      {failed && <Failure>{errorText(failed)}</Failure>}
      {make.data && <MadeLink {...make.data} />}
      <Links
        shares={shares.data?.items ?? []}
        made={make.data?.id}
        revoking={revoking}
        onRevoking={setRevoking}
        isPending={revoke.isPending}
        onRevoke={revoke.mutate}
      />
    </Dialog>
  )
}

const Check = (props: { label: string; on: boolean; onChange: (on: boolean) => void }) => (
  <label className="flex h-7 items-center gap-1.5">
    <input type="checkbox" checked={props.on} onChange={(event) => props.onChange(event.target.checked)} />
    {props.label}
  </label>
)

/** A new link, which is shown once. */
function MadeLink({ url, token, embed }: { url: string; token: string; embed: boolean }) {
  return (
    <div className="flex flex-wrap items-center gap-2 rounded border border-line bg-surface p-2">
      <code data-share-url className="min-w-0 flex-1 font-mono text-xs break-all">
        {url}
      </code>
      <Copy text={url} />
      <p className="w-full text-xs text-muted">
        Copy it now: it is shown only once.
        {url.includes('?') && ' It opens with the settings of this page.'}
      </p>
      {embed && <EmbedCodes token={token} link={url} />}
    </div>
  )
}

/** The links to the batch; revoking one asks in its place. */
function Links(props: {
  shares: readonly Share[]
  /** The id of the link that is shown above. */
  made: string | undefined
  revoking: string | null
  onRevoking: (id: string | null) => void
  isPending: boolean
  onRevoke: (id: string) => void
}) {
  const { shares, made, revoking, onRevoking, isPending, onRevoke } = props
  if (shares.length === 0) return null
  return (
    <ul className="divide-y divide-line border-y border-line">
      {shares.map((share) => (
        <li key={share.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 py-1.5">
          <span className="flex-1">
            {share.id === made ? 'The link above, made' : 'Made'} by {share.created_by.name}{' '}
            <RelativeTime at={share.created_at} />
            {share.anonymous && ', anonymous'}
            {share.embed && ', for other sites'}
            <span className="text-muted">, {stateOf(share)}</span>
          </span>
          {revoking !== share.id ? (
            <Button
              look="danger"
              aria-label={`Revoke the link made ${exact(share.created_at)}`}
              onClick={() => onRevoking(share.id)}
            >
              Revoke
            </Button>
          ) : (
            <span role="group" aria-label="Revoke this link?" className="flex flex-wrap items-center gap-2">
              Open pages lose access immediately.
              <Button autoFocus onClick={() => onRevoking(null)}>
                Keep it
              </Button>
              <Button look="danger" disabled={isPending} onClick={() => onRevoke(share.id)}>
                Revoke it
              </Button>
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

/** What the page shows now, as search parameters of a share; empty for tabs that shares have not. */
function useShownView(): string {
  const { pathname, search } = useRouterState({ select: (state) => state.location })
  const [, , , tab = 'charts', ...more] = pathname.replace(/\/$/, '').split('/')
  if (more.length > 0 || !SHARE_TABS.some((one) => one === tab)) return ''
  return defaultStringifySearch(readShareSearch({ ...search, tab }))
}
