import { Link } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { links } from '../../lib/links.ts'
import { without } from '../../lib/query.ts'
import type { TableSearch } from '../../lib/table-search.ts'
import type { Baseline } from './baseline.ts'

const chip = 'flex items-center gap-1 rounded-full border border-line bg-surface px-2 text-xs hover:bg-hover'

/** The words of the query and the baseline, each with a link that removes it. */
export function Filters(props: {
  slug: string
  search: TableSearch
  words: readonly string[]
  baseline: Baseline | undefined
}) {
  const { slug, search, words, baseline } = props
  const { base, ...withoutBase } = search
  if (words.length === 0 && base === undefined) return null
  return (
    <ul aria-label="Filters" className="flex flex-wrap gap-1.5 px-4 pb-2">
      {words.map((word) => (
        <li key={word}>
          <Link
            {...links.project(slug, { ...search, q: without(search.q ?? '', word) })}
            aria-label={`Remove the filter ${word}`}
            className={chip}
          >
            {word} <X className="size-3" aria-hidden="true" />
          </Link>
        </li>
      ))}
      {base !== undefined && (
        <li>
          <Link
            {...links.project(slug, withoutBase)}
            aria-label={`Remove Baseline: ${baseline?.name ?? base}`}
            className={chip}
          >
            Baseline: {baseline?.name ?? base} <X className="size-3" aria-hidden="true" />
          </Link>
        </li>
      )}
    </ul>
  )
}
