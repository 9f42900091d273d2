import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { linkReport, type Report, revokeReportLinks } from '../../lib/api/reports.ts'
import { errorText } from '../../lib/api/request.ts'
import { some } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { Code } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { EmbedCodes } from '../../ui/embed-codes.tsx'
import { Failure } from '../../ui/notice.tsx'

/** Public links to the report: shown once when created; all are revoked together. */
export function ShareReport(props: { report: Report; onChange: () => void; onClose: () => void }) {
  const { report, onChange } = props
  const [embed, setEmbed] = useState(false)
  const make = useMutation({
    mutationFn: async () => ({ ...(await linkReport(report.id, embed)), embed }),
    onSuccess: onChange,
  })
  const revoke = useMutation({
    mutationFn: () => revokeReportLinks(report.id),
    onSuccess: () => {
      make.reset()
      onChange()
    },
  })
  const error = make.error ?? revoke.error
  return (
    <Dialog title="Share the report" onClose={props.onClose} size="wide">
      <p className="text-muted">
        Anyone with the link can read the report without signing in, with the batches that it shows, live,
        until you revoke it. A batch that you add to the report later needs a new link.
      </p>
      {make.data && (
        <>
          <Code text={make.data.url} label="Link" />
          <p className="text-muted">
            It opens the text and {some(make.data.batches.length, 'batch', 'batches')}. It is shown only once.
          </p>
          {make.data.embed && <EmbedCodes token={make.data.token} link={make.data.url} report />}
        </>
      )}
      <label className="flex items-center gap-1.5">
        <input type="checkbox" checked={embed} onChange={(event) => setEmbed(event.target.checked)} />
        other sites may show it
      </label>
      {error && <Failure>{errorText(error)}</Failure>}
      <div className="flex gap-2">
        <Button look="primary" disabled={make.isPending} onClick={() => make.mutate()}>
          Make a link
        </Button>
        {(report.shared || make.data) && (
          <Button look="danger" disabled={revoke.isPending} onClick={() => revoke.mutate()}>
            Revoke all links
          </Button>
        )}
      </div>
    </Dialog>
  )
}
