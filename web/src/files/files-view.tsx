import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { MAX_ZIP_FILES } from '../__generated__/limits.ts'
import { deleteFile, type FileSource, type StoredFile } from '../lib/api/files.ts'
import { errorText } from '../lib/api/request.ts'
import { invalidateQueries } from '../lib/query-client.ts'
import { downloadAt, served } from '../lib/served.ts'
import { bytesText, count, some } from '../lib/words.ts'
import { Confirm } from '../ui/confirm.tsx'
import { Button, buttonLook, inputLook } from '../ui/controls.tsx'
import { Copy } from '../ui/copy.tsx'
import { HowTo } from '../ui/how-to.tsx'
import { Failure, Notice, Waiting } from '../ui/notice.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'
import { FileTree } from './file-tree.tsx'
import { Preview } from './preview.tsx'
import { nameOf, treeOf } from './tree.ts'

/** More files are listed on request. */
const MAX_PAGES = 20

/** The files of a batch or share: a tree, and a preview of one. */
export function FilesView(props: {
  /** The cache key of the batch or share. */
  of: string
  source: FileSource
  shown: string | undefined
  onShow: (path: string | undefined) => void
  mayDelete: boolean
}) {
  const { of, source, shown, onShow } = props
  const [wanted, setWanted] = useState('')
  const list = useFiles(of, source)
  const { files } = list
  const found = useMemo(() => {
    const text = wanted.trim().toLowerCase()
    return text === '' ? files : files.filter(({ path }) => path.toLowerCase().includes(text))
  }, [files, wanted])
  const root = useMemo(() => treeOf(found), [found])
  const file = files.find(({ path }) => path === shown)
  if (list.error && files.length === 0) return <Notice title={errorText(list.error)} bad />
  if (list.isPending) return <Waiting rows={8} />
  if (files.length === 0)
    return (
      <Notice title="No files yet">
        <p>Checkpoints, images and other files that a script saves appear here by themselves.</p>
        <HowTo call='run.save("model.pt")' section="media.html#files-of-a-run" />
      </Notice>
    )
  return (
    <div className="flex flex-col gap-4 p-3 lg:flex-row">
      <section aria-label="All files" className="flex min-w-0 flex-col gap-2 lg:w-[30rem] lg:shrink-0">
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <FindFiles value={wanted} onChange={setWanted} />
          <span role="status" className="text-xs whitespace-nowrap text-muted">
            {wanted === ''
              ? some(files.length, 'file')
              : `${count(found.length)} of ${some(files.length, 'file')}`}
            , {bytesText(root.size)}
            {list.isMore && ', and more'}
          </span>
          <span className="flex-1" />
          {!list.isMore && <DownloadAll source={source} count={files.length} />}
        </div>
        {list.error && <Failure>{errorText(list.error)}</Failure>}
        <FileTree root={root} shown={shown} onShow={onShow} />
        {list.isMore && (
          <Button className="self-start" disabled={list.isFetching} onClick={list.more}>
            List more files
          </Button>
        )}
      </section>
      <section aria-label="Preview" className="flex min-w-0 flex-1 flex-col gap-2">
        {file === undefined && !list.isFetching && shown !== undefined ? (
          <p className="text-muted">There is no file {shown}.</p>
        ) : (
          <Selected file={file} of={of} mayDelete={props.mayDelete} onShow={onShow} />
        )}
      </section>
    </div>
  )
}

/** The preview of a file, or what to do to see one. */
const Selected = (
  props: Pick<Parameters<typeof FilesView>[0], 'of' | 'mayDelete' | 'onShow'> & {
    file: Parameters<typeof ShownFile>[0]['file'] | undefined
  },
) =>
  props.file === undefined ? (
    <p className="text-muted max-lg:hidden">Select a file to see what is in it.</p>
  ) : (
    <ShownFile
      key={props.file.path}
      file={props.file}
      mayDelete={props.mayDelete}
      of={props.of}
      onDeleted={() => props.onShow(undefined)}
    />
  )

const FindFiles = ({ value, onChange }: { value: string; onChange: (text: string) => void }) => (
  <input
    data-search
    type="search"
    aria-label="Find files"
    placeholder="Find files"
    className={`${inputLook} max-w-56 flex-1`}
    value={value}
    onChange={(event) => onChange(event.target.value)}
  />
)

/** All files, page by page. */
function useFiles(of: string, source: FileSource) {
  const [pages, setPages] = useState(MAX_PAGES)
  const query = useInfiniteQuery({
    queryKey: ['files', of],
    queryFn: ({ pageParam, signal }) => source.page({ cursor: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next_cursor }) => next_cursor ?? undefined,
    refetchOnMount: 'always',
  })
  const { hasNextPage, isFetching, error, fetchNextPage } = query
  const known = query.data?.pages.length ?? 0
  useEffect(() => {
    if (hasNextPage && !isFetching && !error && known < pages) void fetchNextPage()
  }, [hasNextPage, isFetching, error, known, pages, fetchNextPage])
  const files = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data])
  return {
    files,
    error,
    isPending: query.isPending,
    isFetching,
    isMore: hasNextPage,
    more: () => setPages(known + MAX_PAGES),
  }
}

function ShownFile(props: { file: StoredFile; mayDelete: boolean; of: string; onDeleted: () => void }) {
  const { file, of } = props
  const [deleting, setDeleting] = useState(false)
  return (
    <>
      <div className="flex flex-wrap items-center gap-2">
        <h2 className="min-w-0 font-medium break-all">{nameOf(file.path)}</h2>
        <span className="flex-1" />
        <a href={downloadAt(file.url)} download className={buttonLook()}>
          Download ({bytesText(file.size)})
        </a>
        <Copy text={file.path} label="Copy path" />
        {props.mayDelete && (
          <Button look="danger" onClick={() => setDeleting(true)}>
            Delete
          </Button>
        )}
      </div>
      <FileFacts file={file} />
      <Preview file={file} />
      {deleting && (
        <Confirm
          title={`Delete ${nameOf(file.path)}?`}
          yes="Delete the file"
          no="Keep it"
          danger
          run={async () => {
            await deleteFile(file.url)
            await invalidateQueries({ queryKey: ['files', of] })
            props.onDeleted()
          }}
          onClose={() => setDeleting(false)}
        >
          {file.path} ({bytesText(file.size)}) is removed from this batch. This cannot be undone.
        </Confirm>
      )}
    </>
  )
}

/** All files as one ZIP, if they are not too many. */
function DownloadAll({ source, count }: { source: FileSource; count: number }) {
  if (count < 2 || count > MAX_ZIP_FILES) return null
  return (
    <a
      href={served(source.zip)}
      download
      className={buttonLook()}
      title="All files as one ZIP, with their folders"
    >
      Download all
    </a>
  )
}

function FileFacts({ file }: { file: StoredFile }) {
  return (
    <dl className="flex flex-wrap gap-x-4 text-xs text-muted">
      <div className="flex gap-1.5">
        <dt>Type</dt>
        <dd className="text-ink">{file.media_type}</dd>
      </div>
      {file.job_id !== null && (
        <div className="flex gap-1.5">
          <dt>Job</dt>
          <dd className="text-ink">{file.job_id}</dd>
        </div>
      )}
      <div className="flex gap-1.5">
        <dt>Saved</dt>
        <dd className="text-ink">
          <RelativeTime at={file.created_at} />
        </dd>
      </div>
      <div className="flex min-w-0 gap-1.5">
        <dt>SHA-256</dt>
        <dd className="truncate font-mono text-ink" title={file.sha256}>
          {file.sha256.slice(0, 16)}
        </dd>
      </div>
    </dl>
  )
}
