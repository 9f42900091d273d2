import { type LinkProps, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef } from 'react'
import { changed, type SearchChange } from '../lib/search-change.ts'

/**
 * Changes the search parameters of the page, without scrolling or a new entry in the history. The URL updates
 * asynchronously; a change before that builds on the previous one.
 * @param linkTo the link to this page with other parameters
 */
export function useSearchChange<Search extends object>(
  search: Search,
  linkTo: (search: Search) => Pick<LinkProps, 'to' | 'params' | 'search'>,
): (change: SearchChange<Search>) => void {
  const navigate = useNavigate()
  const latest = useRef({ search, linkTo })
  useEffect(() => {
    latest.current = { search, linkTo }
  })
  return useCallback(
    (change) => {
      const { search, linkTo } = latest.current
      const next = changed(search, change)
      latest.current = { search: next, linkTo }
      void navigate({ ...linkTo(next), replace: true, resetScroll: false })
    },
    [navigate],
  )
}
