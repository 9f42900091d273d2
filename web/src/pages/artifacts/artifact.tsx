import { useQuery } from '@tanstack/react-query'
import { getRouteApi, Link } from '@tanstack/react-router'
import { type ArtifactVersion, fetchAliasMoves, fetchArtifact } from '../../lib/api/artifacts.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { links } from '../../lib/links.ts'
import { projectQuery, useMe } from '../../lib/queries.ts'
import { invalidateQueries } from '../../lib/query-client.ts'
import { bytesText, count, some } from '../../lib/words.ts'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Section } from '../../ui/section.tsx'
import { Table } from '../../ui/table.tsx'
import { ProjectTabs } from '../project/tabs.tsx'
import { Aliases } from './aliases.tsx'
import { Version } from './version.tsx'

const route = getRouteApi('/p/$slug/artifacts/$name')

/** An artifact: its versions, one of them in detail, and the moves of its aliases. */
export function ArtifactPage() {
  const { slug, name } = route.useParams()
  const { version, file } = route.useSearch()
  const me = useMe()
  const project = useQuery(projectQuery(slug))
  const artifact = useQuery({
    queryKey: ['artifact', slug, name],
    queryFn: () => fetchArtifact(slug, name),
    refetchOnMount: 'always',
  })
  const fault = faultOf(project) ?? faultOf(artifact)
  if (fault)
    return (
      <Refused error={fault}>
        <p>It may be private or deleted, or the address may be mistyped.</p>
      </Refused>
    )
  if (!artifact.data || !project.data) return <Waiting />
  const { items, aliases, type, latest } = artifact.data
  const asked = version === undefined ? (latest ?? items[0]?.version) : (aliases[version] ?? version)
  const at = items.findIndex((one) => one.version === asked)
  const { role } = project.data
  const mayWrite = role === 'owner' || role === 'member' || me?.role === 'admin'
  return (
    <div className="flex max-w-[100rem] flex-col gap-4 p-4">
      <h1 className="text-base font-semibold break-all">
        {name} <span className="font-normal text-muted">{type}</span>
      </h1>
      <ProjectTabs slug={slug} />
      <Section id="versions" title={some(artifact.data.versions, 'version')}>
        <Versions slug={slug} name={name} items={items} shown={asked} />
        {artifact.data.next_cursor && (
          <p className="text-xs text-muted">The last {count(items.length)} are listed.</p>
        )}
      </Section>
      {asked !== undefined && (
        <Version
          key={asked}
          slug={slug}
          name={name}
          version={asked}
          before={items[at + 1]?.version}
          other={(items[at + 1] ?? items[at - 1])?.version}
          known={Object.keys(aliases)}
          file={file}
          mayWrite={mayWrite}
          onChanged={() => {
            void invalidateQueries({ queryKey: ['artifact', slug, name] })
            void invalidateQueries({ queryKey: ['artifacts', slug] })
          }}
        />
      )}
      <AliasMoves slug={slug} name={name} />
    </div>
  )
}

function Versions(props: {
  slug: string
  name: string
  items: readonly ArtifactVersion[]
  shown: string | undefined
}) {
  const { slug, name, shown } = props
  return (
    <div className="max-h-80 overflow-y-auto">
      <Table
        label="Versions"
        heads={['Version', 'Aliases', 'Files', 'Size', 'Made by', 'Used by', 'Made']}
        numeric={['Files', 'Size', 'Used by']}
        wide={['Files', 'Size', 'Made by', 'Used by']}
      >
        {props.items.map((one) => (
          <tr key={one.version} data-row className={one.version === shown ? 'bg-accent-soft' : ''}>
            <td>
              <Link
                {...links.artifact(slug, name, { version: one.version })}
                data-open
                replace
                resetScroll={false}
                aria-current={one.version === shown || undefined}
                className="font-medium hover:underline"
              >
                {one.version}
              </Link>
              {one.state === 'pending' && <span className="ml-2 text-xs text-amber">not complete yet</span>}
            </td>
            <td>
              <span className="flex gap-1">
                <Aliases names={one.aliases} />
              </span>
            </td>
            <td className="text-right max-sm:hidden">{count(one.files)}</td>
            <td className="text-right max-sm:hidden">{bytesText(one.size)}</td>
            <td className="max-sm:hidden">
              {one.batch_id === null ? (
                <span className="text-muted">{one.created_by?.name ?? '–'}</span>
              ) : (
                <Link {...links.batch(one.batch_id)} className="hover:underline">
                  {one.batch_id}
                </Link>
              )}
            </td>
            <td className="text-right max-sm:hidden">{count(one.used_by)}</td>
            <td className="text-muted">
              <RelativeTime at={one.created_at} />
            </td>
          </tr>
        ))}
      </Table>
    </div>
  )
}

/** Who moved which alias, and why. */
function AliasMoves({ slug, name }: { slug: string; name: string }) {
  const moves = useQuery({
    queryKey: ['artifact', slug, name, 'moves'],
    queryFn: () => fetchAliasMoves(slug, name),
  })
  if (moves.error) return <Failure>{errorText(moves.error)}</Failure>
  const rows = moves.data?.items.filter(({ alias }) => alias !== 'latest') ?? []
  if (rows.length === 0) return null
  return (
    <Section id="moves" title="Moves of aliases">
      <ul className="divide-y divide-line border-y border-line">
        {rows.map((move) => (
          <li key={`${move.alias} ${move.at}`} className="flex flex-wrap gap-x-3 py-1.5">
            <span>
              <Aliases names={[move.alias]} />{' '}
              {move.version === null
                ? `removed from ${move.from ?? 'a deleted version'}`
                : `${move.from === null ? 'set to' : `moved from ${move.from} to`} ${move.version}`}
            </span>
            <span className="text-muted">
              {move.by?.name ?? 'a deleted account'}, <RelativeTime at={move.at} />
            </span>
            {move.comment && <span className="min-w-0 basis-full text-muted">{move.comment}</span>}
          </li>
        ))}
      </ul>
    </Section>
  )
}
