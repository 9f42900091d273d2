import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useMemo, useState } from 'react'
import { FileTree } from '../../files/file-tree.tsx'
import { Preview } from '../../files/preview.tsx'
import { nameOf, treeOf } from '../../files/tree.ts'
import {
  type ArtifactContent,
  type ArtifactFile,
  deleteVersion,
  fetchLineage,
  fetchVersion,
} from '../../lib/api/artifacts.ts'
import { errorText } from '../../lib/api/request.ts'
import { valueText } from '../../lib/batch-facts.ts'
import { flat } from '../../lib/flat.ts'
import { links } from '../../lib/links.ts'
import { downloadAt } from '../../lib/served.ts'
import { bytesText, some } from '../../lib/words.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Copy } from '../../ui/copy.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Section } from '../../ui/section.tsx'
import { AliasDialog, Aliases } from './aliases.tsx'
import { LineageGraph } from './lineage.tsx'

const contentQuery = (slug: string, name: string, version: string) => ({
  queryKey: ['artifact', slug, name, 'version', version],
  queryFn: () => fetchVersion(slug, name, version),
})

/** One version of an artifact: aliases, files and their changes, metadata, lineage. */
export function Version(props: {
  slug: string
  name: string
  version: string
  /** The version before it. */
  before: string | undefined
  /** Another one, to show when this one is deleted. */
  other: string | undefined
  /** All aliases of the artifact. */
  known: readonly string[]
  /** The file that is shown. */
  file: string | undefined
  mayWrite: boolean
  onChanged: () => void
}) {
  const { slug, name, version, before, other } = props
  const content = useQuery(contentQuery(slug, name, version))
  const lineage = useQuery({
    queryKey: ['artifact', slug, name, 'lineage', version],
    queryFn: () => fetchLineage(slug, name, version),
  })
  const [open, setOpen] = useState<'aliases' | 'delete'>()
  const navigate = useNavigate()
  if (content.error) return <Failure>{errorText(content.error)}</Failure>
  if (content.data === undefined) return <Waiting rows={4} />
  return (
    <>
      <VersionHeader content={content.data}>
        {props.mayWrite && (
          <>
            <Button disabled={content.data.state === 'pending'} onClick={() => setOpen('aliases')}>
              Move an alias
            </Button>
            <Button look="danger" onClick={() => setOpen('delete')}>
              Delete
            </Button>
          </>
        )}
      </VersionHeader>
      <Files {...props} content={content.data} before={before} />
      <Metadata metadata={content.data.metadata} />
      {lineage.data && <LineageSection slug={slug} lineage={lineage.data} />}
      {open === 'aliases' && (
        <AliasDialog
          slug={slug}
          name={name}
          version={version}
          aliases={content.data.aliases}
          known={props.known}
          onDone={() => {
            props.onChanged()
            setOpen(undefined)
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
      {open === 'delete' && (
        <DeleteVersion
          content={content.data}
          run={async (force) => {
            await deleteVersion(slug, name, version, force)
            // What is read again must not include the version that is gone.
            const next =
              other === undefined ? links.artifacts(slug) : links.artifact(slug, name, { version: other })
            await navigate({ ...next, replace: true })
            props.onChanged()
          }}
          onClose={() => setOpen(undefined)}
        />
      )}
    </>
  )
}

const LineageSection = (props: Parameters<typeof LineageGraph>[0]) => (
  <Section id="lineage" title="Lineage">
    <LineageGraph {...props} />
  </Section>
)

/** The name of the version, its aliases, and the run that made it. */
function VersionHeader({ content, children }: { content: ArtifactContent; children: ReactNode }) {
  const { name, version, aliases, state, batch_id, job_id } = content
  return (
    <section aria-label={`${name} ${version}`} className="flex flex-wrap items-center gap-2">
      <h2 className="font-semibold">
        {name} {version}
      </h2>
      <Aliases names={aliases} />
      {state === 'pending' && <span className="text-amber">Some of its files have not arrived yet.</span>}
      {batch_id !== null && (
        <span className="text-muted">
          made by{' '}
          <Link
            {...(job_id === null ? links.batch(batch_id) : links.job(batch_id, job_id))}
            className="text-accent underline"
          >
            {job_id === null ? batch_id : `${batch_id}, ${job_id}`}
          </Link>
        </span>
      )}
      <span className="flex-1" />
      <Copy text={`${name}:${version}`} label="Copy name" />
      {children}
    </section>
  )
}

/** Asks before a version is deleted, and says what else that ends. */
function DeleteVersion(props: {
  content: ArtifactContent
  run: (force: boolean) => Promise<void>
  onClose: () => void
}) {
  const { name, version, files, size, used_by: users, aliases } = props.content
  const named = aliases.filter((alias) => alias !== 'latest')
  const isNeeded = users > 0 || named.length > 0
  return (
    <Confirm
      title={`Delete ${name} ${version}?`}
      yes={isNeeded ? 'Delete it although it is in use' : 'Delete the version'}
      no="Keep it"
      danger
      run={() => props.run(isNeeded)}
      onClose={props.onClose}
    >
      {some(files.length, 'file')}, {bytesText(size)}. This cannot be undone.
      {users > 0 &&
        ` ${some(users, 'batch', 'batches')} used it: runs that download it again will fail, and their lineage will no longer show it.`}
      {named.length > 0 &&
        ` ${named.join(', ')} will point to no version until ${named.length === 1 ? 'it is' : 'they are'} moved.`}
    </Confirm>
  )
}

function Metadata({ metadata }: { metadata: Record<string, unknown> }) {
  const facts = Object.entries(flat(metadata))
  if (facts.length === 0) return null
  return (
    <Section id="metadata" title="Metadata">
      <dl className="grid grid-cols-[minmax(6rem,14rem)_1fr] gap-x-4 gap-y-1">
        {facts.map(([key, value]) => (
          <div key={key} className="contents">
            <dt className="truncate text-muted" title={key}>
              {key}
            </dt>
            <dd className="min-w-0 wrap-anywhere">{valueText(value)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

function Files(props: {
  slug: string
  name: string
  version: string
  before: string | undefined
  file: string | undefined
  content: ArtifactContent
}) {
  const { slug, name, version, before, content, file } = props
  const navigate = useNavigate()
  const older = useQuery({ ...contentQuery(slug, name, before ?? ''), enabled: before !== undefined })
  const root = useMemo(() => treeOf(content.files), [content.files])
  const shown = content.files.find(({ path }) => path === file)
  return (
    <Section id="files" title={`${some(content.files.length, 'file')}, ${bytesText(content.size)}`}>
      {older.data && before !== undefined && (
        <Changes before={before} old={older.data.files} now={content.files} />
      )}
      <div className="flex flex-col gap-4 lg:flex-row">
        <div className="min-w-0 lg:w-[30rem] lg:shrink-0">
          <FileTree
            root={root}
            shown={file}
            onShow={(path) =>
              void navigate({
                ...links.artifact(slug, name, { version, file: path }),
                replace: true,
                resetScroll: false,
              })
            }
          />
        </div>
        {shown !== undefined && (
          <section aria-label="Preview" className="flex min-w-0 flex-1 flex-col gap-2">
            <div className="flex flex-wrap items-center gap-2">
              <h3 className="min-w-0 flex-1 font-medium break-all">{nameOf(shown.path)}</h3>
              {shown.url !== null && (
                <a href={downloadAt(shown.url)} download className={buttonLook()}>
                  Download ({bytesText(shown.size)})
                </a>
              )}
            </div>
            {shown.url === null ? (
              <p className="text-muted">Not uploaded yet</p>
            ) : (
              <Preview
                key={shown.path}
                file={{
                  ...shown,
                  url: shown.url,
                  media_type: shown.media_type ?? 'application/octet-stream',
                }}
              />
            )}
          </section>
        )}
      </div>
    </Section>
  )
}

/** Which files differ from the version before. */
function Changes(props: { before: string; old: readonly ArtifactFile[]; now: readonly ArtifactFile[] }) {
  const old = new Map(props.old.map((file) => [file.path, file.sha256]))
  const now = new Set(props.now.map(({ path }) => path))
  const added = props.now.filter(({ path }) => !old.has(path))
  const changed = props.now.filter(({ path, sha256 }) => old.has(path) && old.get(path) !== sha256)
  const removed = props.old.filter(({ path }) => !now.has(path))
  const parts = [
    ['added', added],
    ['changed', changed],
    ['removed', removed],
  ] as const
  const text = parts
    .filter(([, files]) => files.length > 0)
    .map(([what, files]) => `${some(files.length, 'file')} ${what}: ${namesOf(files)}`)
    .join('; ')
  return (
    <p className="text-xs text-muted" data-changes>
      Since {props.before}: {text === '' ? 'the same files' : text}
    </p>
  )
}

const MAX_NAMES = 5
const namesOf = (files: readonly { path: string }[]): string =>
  `${files
    .slice(0, MAX_NAMES)
    .map(({ path }) => path)
    .join(', ')}${files.length > MAX_NAMES ? ', …' : ''}`
