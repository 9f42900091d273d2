import { queryClient } from '../lib/query-client.ts'
import { router } from './router.tsx'

const KEY = 'fonts'
const LOOK_MS = 250

/**
 * Fonts weigh as much as a quarter of the scripts: on a first visit they come once the page has what it shows, which
 * until then is in a font of the machine of the same width. After that they are in the browser's cache.
 */
export function startFonts(): void {
  if (localStorage.getItem(KEY) !== null) {
    load()
    return
  }
  let quiet = false
  const look = setInterval(() => {
    const before = quiet
    quiet = !router.state.isLoading && queryClient.isFetching() === 0
    // Between two reads of one page there may be a moment without any.
    if (!quiet || !before) return
    clearInterval(look)
    load()
    localStorage.setItem(KEY, 'cached')
  }, LOOK_MS)
}

const load = (): void => void import('./fonts.css')
