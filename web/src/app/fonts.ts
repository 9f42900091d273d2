import { queryClient } from '../lib/query-client.ts'
import { router } from './router.tsx'

const KEY = 'fonts'
const LOOK_MS = 250

/**
 * Loads the web fonts. They are a quarter of the size of the scripts, so on a first visit they load after the page's
 * data; the page uses a system font with matching metrics until then. Later visits use the browser's cache.
 */
export function startFonts(): void {
  if (localStorage.getItem(KEY) !== null) {
    load()
    return
  }
  let isIdle = false
  const look = setInterval(() => {
    const before = isIdle
    isIdle = !router.state.isLoading && queryClient.isFetching() === 0
    // There may be a short gap between two fetches of one page.
    if (!isIdle || !before) return
    clearInterval(look)
    load()
    localStorage.setItem(KEY, 'cached')
  }, LOOK_MS)
}

const load = (): void => void import('./fonts.css')
