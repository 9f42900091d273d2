import { useQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { useCallback, useMemo, useState } from 'react'
import { links } from '../../lib/links.ts'
import { fieldsQuery } from '../../lib/queries.ts'
import { keepColumns, keptColumns, readTableSearch } from '../../lib/table-search.ts'
import { columnOf, standardColumns } from './table-columns.ts'

const route = getRouteApi('/p/$slug')

/** The columns: from the URL, else those saved in this browser for the project, else the defaults. */
export function useColumns() {
  const { slug } = route.useParams()
  const search = route.useSearch({ select: readTableSearch, structuralSharing: true })
  const navigate = useNavigate()
  const known = useQuery(fieldsQuery(slug)).data
  const [kept, setKept] = useState(() => ({ slug, columns: keptColumns(slug) }))
  if (kept.slug !== slug) setKept({ slug, columns: keptColumns(slug) })
  const ids = search.cols ?? kept.columns
  const columns = useMemo(
    () => (ids ?? standardColumns(known)).flatMap((id) => columnOf(id) ?? []),
    [ids, known],
  )
  const choose = useCallback(
    (next: string[] | undefined) => {
      keepColumns(slug, next)
      setKept({ slug, columns: next })
      const { cols: _, ...rest } = search
      void navigate({
        ...links.project(slug, next === undefined ? rest : { ...rest, cols: next }),
        replace: true,
      })
    },
    [slug, search, navigate],
  )
  return { columns, choose, usual: ids === undefined }
}
