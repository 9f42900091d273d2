import { type LinkProps, useNavigate } from '@tanstack/react-router'
import { useCallback, useEffect, useRef } from 'react'
import { changed, type SearchChange } from '../lib/search-change.ts'

/** Changes search parameters. The URL updates asynchronously; a change before that builds on the previous one. */
export function useChange<Search extends object>(
  search: Search,
  onSearch: (search: Search) => void,
): (change: SearchChange<Search>) => void {
  const latest = useRef({ search, onSearch })
  useEffect(() => {
    latest.current = { search, onSearch }
  })
  return useCallback((change) => {
    const { search, onSearch } = latest.current
    const next = changed(search, change)
    latest.current = { search: next, onSearch }
    onSearch(next)
  }, [])
}

/**
 * Changes the search parameters of the page, without scrolling or a new entry in the history.
 * @param linkTo the link to this page with other parameters
 */
export function useSearchChange<Search extends object>(
  search: Search,
  linkTo: (search: Search) => Pick<LinkProps, 'to' | 'params' | 'search'>,
): (change: SearchChange<Search>) => void {
  const navigate = useNavigate()
  return useChange(search, (next) => void navigate({ ...linkTo(next), replace: true, resetScroll: false }))
}
