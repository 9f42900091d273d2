import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { type ProjectLink, revokeProjectLink } from '../../lib/api/shares.ts'
import { faultOf } from '../../lib/availability.ts'
import { stateOf } from '../../lib/link-state.ts'
import { links } from '../../lib/links.ts'
import { projectLinksQuery } from '../../lib/project-queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button } from '../../ui/controls.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'

/** Every public link to a batch or report of the project, for its owner, who may revoke each. */
export function PublicLinks({ slug }: { slug: string }) {
  const queries = useQueryClient()
  const query = projectLinksQuery(slug)
  const found = useQuery(query)
  const [revoking, setRevoking] = useState<ProjectLink | null>(null)
  const fault = faultOf(found)
  if (fault) return <Refused error={fault} />
  if (!found.data) return null
  return (
    <section className="space-y-2 border-t border-line pt-4" aria-labelledby="public-links">
      <h2 id="public-links" className="font-semibold">
        Public links
      </h2>
      <p className="text-muted">
        {found.data.length === 0
          ? 'There is no link to a batch or report of this project.'
          : 'Anyone with one of these links reads its batch or report without signing in. A link works while the person who made it may share what it opens.'}
      </p>
      {found.data.length > 0 && (
        <Table heads={['Opens', 'Made by', 'State', '']} wide={['State']} label="Links">
          {found.data.map((link) => (
            <tr key={link.id}>
              <td>
                <Opened link={link} />
                {link.anonymous && <span className="text-muted">, anonymous</span>}
                {link.embed && <span className="text-muted">, may be embedded</span>}
              </td>
              <td>
                {link.created_by.name} <RelativeTime at={link.created_at} />
              </td>
              <td className="max-sm:hidden">{stateOf(link)}</td>
              <td className="text-right">
                <Button
                  look="danger"
                  aria-label={`Revoke the link to ${link.title} by ${link.created_by.name}`}
                  onClick={() => setRevoking(link)}
                >
                  Revoke
                </Button>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {revoking && (
        <Confirm
          title={`Revoke the link to ${revoking.title}?`}
          no="Keep it"
          yes="Revoke it"
          danger
          run={() => revokeProjectLink(revoking).then(() => queries.invalidateQueries(query))}
          onClose={() => setRevoking(null)}
        >
          Open pages lose access immediately. A revoked link cannot be restored.
        </Confirm>
      )}
    </section>
  )
}

function Opened({ link }: { link: ProjectLink }) {
  const { batch_id: batch, report_id: report, title } = link
  const look = 'text-accent hover:underline'
  if (batch !== null)
    return (
      <Link {...links.batch(batch)} className={look}>
        {title}
      </Link>
    )
  if (report === null) return title
  return (
    <Link {...links.report(report)} className={look}>
      {title}
    </Link>
  )
}
