import { Link, type LinkProps } from '@tanstack/react-router'
import type { Lineage } from '../../lib/api/artifacts.ts'
import { links } from '../../lib/links.ts'

interface Node {
  text: string
  to: Pick<LinkProps, 'to' | 'params' | 'search'> | undefined
  kind: 'artifact' | 'batch'
  /** The batch that uses or makes it, after the artifact. */
  batch?: string
}
const [WIDTH, GAP, ROW] = [176, 44, 36]
/** Nodes of a column beyond these are counted. */
const MAX_ROWS = 8

/** What a version was made of and by, who uses it, and what they made: from left to right. */
export function LineageGraph({ lineage, slug }: { lineage: Lineage; slug: string }) {
  const artifact = (one: { name: string; version: string }): Node => ({
    text: `${one.name} ${one.version}`,
    to: links.artifact(slug, one.name, { version: one.version }),
    kind: 'artifact',
  })
  const batch = (one: { batch_id: string; job_id: string | null }): Node => ({
    text: one.job_id === null ? one.batch_id : `${one.batch_id}, ${one.job_id}`,
    to: one.job_id === null ? links.batch(one.batch_id) : links.job(one.batch_id, one.job_id),
    kind: 'batch',
  })
  const columns = [
    lineage.inputs.map(artifact),
    lineage.made_by === null ? [] : [batch(lineage.made_by)],
    [{ ...artifact(lineage.artifact), to: undefined }],
    lineage.used_by.map((one) => ({ ...batch(one), batch: one.batch_id })),
    lineage.outputs.map((one) => ({ ...artifact(one), batch: one.batch_id })),
  ].filter((column): column is Node[] => column.length > 0)
  const shown = columns.map(limited)
  const height = ROW * Math.max(...shown.map((column) => column.length))
  const topOf = (column: readonly Node[], i: number): number =>
    height / 2 + (i - (column.length - 1) / 2) * ROW
  return (
    <div
      role="region"
      aria-label="Lineage"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
      tabIndex={0}
      className="fade-end overflow-x-auto"
    >
      <div
        className="relative"
        style={{ width: shown.length * (WIDTH + GAP) - GAP, height: Math.max(height, ROW) }}
      >
        <svg aria-hidden="true" className="absolute inset-0 size-full">
          <path d={pathOf(shown, topOf)} fill="none" stroke="var(--line-strong)" />
        </svg>
        {shown.map((column, i) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: columns have no identity
          <ul key={i}>
            {column.map((node, j) => (
              <li
                // biome-ignore lint/suspicious/noArrayIndexKey: a node may be there twice
                key={j}
                className="absolute"
                style={{ left: i * (WIDTH + GAP), top: topOf(column, j) - 14, width: WIDTH }}
              >
                <NodeBox node={node} />
              </li>
            ))}
          </ul>
        ))}
      </div>
    </div>
  )
}

/** An edge between every two nodes of neighbouring columns that belong together. */
function pathOf(columns: readonly Node[][], topOf: (column: readonly Node[], i: number) => number): string {
  return columns
    .slice(1)
    .flatMap((column, i) => {
      const before = columns[i] ?? []
      const [x1, x2] = [i * (WIDTH + GAP) + WIDTH, (i + 1) * (WIDTH + GAP)]
      return before.flatMap((from, j) =>
        column.flatMap((to, k) => {
          if (from.batch !== undefined && to.batch !== undefined && from.batch !== to.batch) return []
          const [y1, y2] = [topOf(before, j), topOf(column, k)]
          return [`M${x1} ${y1}C${x1 + GAP / 2} ${y1} ${x2 - GAP / 2} ${y2} ${x2} ${y2}`]
        }),
      )
    })
    .join('')
}

const limited = (column: Node[]): Node[] =>
  column.length <= MAX_ROWS
    ? column
    : [
        ...column.slice(0, MAX_ROWS - 1),
        { text: `and ${column.length - MAX_ROWS + 1} more`, to: undefined, kind: 'batch' },
      ]

function NodeBox({ node }: { node: Node }) {
  const look = `block truncate rounded-md border px-2 py-1 text-xs leading-4.5 ${node.kind === 'artifact' ? 'border-accent bg-accent-soft' : 'border-line bg-surface'}`
  return node.to === undefined ? (
    <span className={`${look} font-medium`} title={node.text}>
      {node.text}
    </span>
  ) : (
    <Link {...node.to} className={`${look} hover:underline`} title={node.text}>
      {node.text}
    </Link>
  )
}
