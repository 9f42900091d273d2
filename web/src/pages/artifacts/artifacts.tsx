import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router'
import { type Artifact, fetchArtifacts } from '../../lib/api/artifacts.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { projectQuery } from '../../lib/queries.ts'
import { bytesText, count } from '../../lib/words.ts'
import { Choice, inputLook } from '../../ui/controls.tsx'
import { HowTo } from '../../ui/how-to.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { RefusedProject } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Table } from '../../ui/table.tsx'
import { useTyped } from '../../ui/use-typed.ts'
import { ProjectTabs } from '../project/tabs.tsx'
import { Aliases } from './aliases.tsx'

const route = getRouteApi('/p/$slug/artifacts')

/** The artifacts of a project: models, data sets and other files with versions. */
export function Artifacts() {
  const { slug } = route.useParams()
  const { q = '', type = '' } = route.useSearch()
  const navigate = useNavigate()
  const project = useQuery(projectQuery(slug))
  const list = useQuery({
    queryKey: ['artifacts', slug, q, type],
    queryFn: () => fetchArtifacts(slug, { q: q || undefined, type: type || undefined }),
    placeholderData: (before) => before,
    refetchOnMount: 'always',
  })
  const go = (next: { q: string; type: string }): void =>
    void navigate({ ...links.artifacts(slug, next), replace: true })
  const fault = faultOf(project)
  if (fault) return <RefusedProject error={fault} />
  if (!project.data) return <Waiting />
  const rows = list.data?.items ?? []
  const types = [...new Set([...rows.map((one) => one.type), ...(type ? [type] : [])])].sort()
  return (
    <div className="flex max-w-[100rem] flex-col gap-4 p-4">
      <h1 className="text-base font-semibold">Artifacts of {project.data.display_name}</h1>
      <ProjectTabs slug={slug} />
      <div className="flex flex-wrap items-center gap-2">
        <FindArtifacts q={q} onChange={(next) => go({ q: next, type })} />
        <Choice
          label="Type"
          hideLabel
          value={type}
          options={[['', 'All types'], ...types.map((one) => [one, one] as const)]}
          onChange={(next) => go({ q, type: next })}
        />
      </div>
      {list.error && <Failure>{errorText(list.error)}</Failure>}
      {list.isPending && <Waiting rows={4} />}
      {list.data && rows.length === 0 && (
        <Notice title={q || type ? 'No artifact matches' : 'No artifacts yet'}>
          <p>
            {q || type
              ? 'Change the filters above.'
              : 'Models and data sets that scripts log as artifacts appear here, with their versions and aliases.'}
          </p>
          {!q && !type && (
            <HowTo
              call='run.log_artifact("model.pt", name="model", type="model")'
              section="media.html#artifacts"
            />
          )}
        </Notice>
      )}
      {rows.length > 0 && <ArtifactTable slug={slug} rows={rows} />}
      {list.data?.next_cursor && (
        <p className="text-xs text-muted">
          The first {count(rows.length)} are listed. Search to find others.
        </p>
      )}
    </div>
  )
}

function FindArtifacts({ q, onChange }: { q: string; onChange: (q: string) => void }) {
  const [text, setText] = useTyped(q, onChange, (given) => given.trim())
  return (
    <input
      data-search
      type="search"
      aria-label="Find artifacts"
      placeholder="Find artifacts"
      className={`${inputLook} max-w-56`}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
}

function ArtifactTable({ slug, rows }: { slug: string; rows: readonly Artifact[] }) {
  return (
    <Table
      label="Artifacts"
      heads={['Name', 'Type', 'Versions', 'Aliases', 'Size', 'Changed']}
      numeric={['Versions', 'Size']}
      wide={['Type', 'Versions', 'Size']}
    >
      {rows.map((one) => (
        <tr key={one.name} data-row>
          <td>
            <Link {...links.artifact(slug, one.name)} data-open className="font-medium hover:underline">
              {one.name}
            </Link>
          </td>
          <td className="text-muted max-sm:hidden">{one.type}</td>
          <td className="text-right max-sm:hidden">{count(one.versions)}</td>
          <td>
            <span className="flex flex-wrap gap-1">
              {Object.entries(one.aliases).map(([alias, version]) => (
                <Aliases key={alias} names={[alias]} of={version} />
              ))}
            </span>
          </td>
          <td className="text-right text-muted max-sm:hidden">{bytesText(one.size)}</td>
          <td className="text-muted">
            <RelativeTime at={one.updated_at} />
          </td>
        </tr>
      ))}
    </Table>
  )
}
