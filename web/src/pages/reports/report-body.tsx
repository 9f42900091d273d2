import { useMemo } from 'react'
import { type ReportBlock, reportBlocks } from '../../lib/report-blocks.ts'
import { Markdown } from '../../ui/markdown.tsx'
import { Embed } from './embed.tsx'
import { RunSet, ViewLink } from './report-links.tsx'

/** For a public link: the share token of a batch; undefined if the link does not include the batch. */
type TokenOf = (batchId: string) => string | undefined

/** A rendered report. */
export function ReportBody({
  body,
  project,
  tokenOf,
}: {
  body: string
  /** The slug of the report's project; undefined for a public link. */
  project?: string
  tokenOf?: TokenOf
}) {
  const blocks = useMemo(() => reportBlocks(body).map((block, i) => ({ block, key: String(i) })), [body])
  if (blocks.length === 0) return <p className="text-muted">This report is empty.</p>
  return (
    <div data-report className="report flex flex-col gap-4">
      {blocks.map(({ block, key }) => (
        <Block key={key} block={block} project={project} tokenOf={tokenOf} />
      ))}
    </div>
  )
}

/** One block. Run sets and saved views are shown only to readers of the project. */
export function Block(props: {
  block: ReportBlock
  project: string | undefined
  tokenOf: TokenOf | undefined
}) {
  const { block, project, tokenOf } = props
  if (block.kind === 'text') return <Markdown text={block.text} />
  if (block.kind === 'wrong')
    return (
      <p role="status" className="rounded bg-amber-soft px-2 py-1 text-amber">
        <code>{block.text}</code>: {block.why}.
      </p>
    )
  if (block.kind === 'runs' || block.kind === 'view') {
    if (project === undefined)
      return (
        <p className="rounded border border-line px-3 py-2 text-muted">
          This link does not open {block.kind === 'runs' ? 'lists of runs' : 'saved views'}.
        </p>
      )
    return block.kind === 'view' ? (
      <ViewLink id={block.id} />
    ) : (
      <RunSet project={project} query={block.query} />
    )
  }
  const token = tokenOf?.(block.id)
  if (tokenOf && token === undefined)
    return (
      <p className="rounded border border-line px-3 py-2 text-muted">
        This link does not open the batch {block.id}.
      </p>
    )
  return <Embed key={block.id} block={block} token={token} />
}
