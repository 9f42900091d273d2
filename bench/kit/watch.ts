import { setTimeout as sleep } from 'node:timers/promises'
import type { Page } from '@playwright/test'

const TIMEOUT_MS = 60_000

/**
 * What the page is watched with. It is text, because it runs in the browser: set in before the page's own scripts,
 * under `watch`. Times are milliseconds since the navigation began, or since 1970 where told.
 */
export const WATCH = `(() => {
  const painted = () => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))
  const tasks = []
  new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ startTime, duration }) => ({ startTime, duration }))))
    .observe({ entryTypes: ['longtask'] })

  /** When 'look' first answers, and that is on the screen. */
  const once = (look) => new Promise((done) => {
    const found = () => {
      if (!look()) return false
      watcher.disconnect()
      void painted().then(done)
      return true
    }
    const watcher = new MutationObserver(found)
    watcher.observe(document, { subtree: true, childList: true, characterData: true, attributes: true })
    found()
  })
  const rows = () => [...document.querySelectorAll('[data-row]')]
  /** Lengths of frames, while 'step' is called in each, for so long. */
  const frames = (ms, step = () => {}) => new Promise((done) => {
    const deltas = []
    const begun = performance.now()
    let before = begun
    const frame = () => {
      const now = performance.now()
      deltas.push(now - before)
      before = now
      if (now - begun > ms) return done(deltas.slice(1))
      step()
      requestAnimationFrame(frame)
    }
    requestAnimationFrame(frame)
  })

  globalThis.watch = {
    once, frames, tasks,
    rowsPainted: () => once(() => rows().length > 10 && rows().every((row) => row.textContent !== '')),
    /** From a word in the query field to rows that all say so. */
    async filtered(word, said) {
      const field = document.querySelector('[data-search]')
      const begun = performance.now()
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(field, word)
      field.dispatchEvent(new Event('input', { bubbles: true }))
      const end = await once(() => rows().length > 0 && document.querySelector('[aria-busy="true"]') === null &&
        rows().every((row) => row.textContent.includes(said)))
      return end - begun
    },
    /** Down the table for one half of the time, and up again. */
    async scrolled(ms) {
      const table = document.querySelector('[role="table"]')
      const begun = performance.now()
      return frames(ms, () => { table.scrollTop += performance.now() - begun < ms / 2 ? 60 : -60 })
    },
    /** The rendered page without its scripts, with enough rows to scroll. */
    still(count) {
      const page = document.documentElement.cloneNode(true)
      for (const one of page.querySelectorAll('script, link:not([rel="stylesheet"])')) one.remove()
      const found = [...page.querySelectorAll('[data-row]')]
      const height = parseFloat(found[0].style.height)
      const group = found[0].parentElement
      group.style.height = count * height + 'px'
      group.replaceChildren(...Array.from({ length: count }, (_, n) => {
        const row = found[n % found.length].cloneNode(true)
        row.style.transform = 'translateY(' + n * height + 'px)'
        return row
      }))
      return '<!doctype html>' + page.outerHTML
    },
    /** From the last byte of the answer with the curves until they are on the screen. */
    async drawn() {
      const end = await once(() => /of [\\d,]+ points/.test(document.querySelector('[data-points]')?.textContent ?? ''))
      const [answer] = performance.getEntriesByType('resource').filter(({ name }) => /\\/metrics\\?/.test(name))
        .sort((a, b) => b.decodedBodySize - a.decodedBodySize)
      return { ms: end - answer.responseEnd, bytes: answer.decodedBodySize, label: document.querySelector('[data-points]').textContent }
    },
    /** When the first chart shows its curves. */
    firstChart: () => once(() => /of [\\d,]+ points/.test(document.querySelector('[data-points]')?.textContent ?? '')),
    /** By number of points, when a chart that shows so many was on the screen, since 1970. */
    counts: [],
    count() {
      const at = []
      globalThis.watch.counts = at
      new MutationObserver(() => {
        const n = Number(/^([\\d,]+) of/.exec(document.querySelector('[data-points]')?.textContent ?? '')?.[1].replaceAll(',', ''))
        if (Number.isNaN(n) || at.at(-1)?.n >= n) return
        const one = { n, ms: Infinity }
        at.push(one)
        requestAnimationFrame(() => { one.ms = performance.timeOrigin + performance.now() })
      }).observe(document, { subtree: true, childList: true, characterData: true })
    },
  }
})()`

/** Runs an expression over `watch` in the page. */
export const watched = <T>(page: Page, expression: string): Promise<T> =>
  Promise.race([
    page.evaluate(`watch.${expression}`) as Promise<T>,
    sleep(TIMEOUT_MS, undefined, { ref: false }).then(() => {
      throw new Error(`watch.${expression} of ${page.url()} saw nothing`)
    }),
  ])

/** Opens a page that the server does not have, at the server's address, watched like the others. */
export async function openBare(page: Page, html: string): Promise<void> {
  await page.route('**/bare', (route) => route.fulfill({ contentType: 'text/html', body: html }))
  await page.goto('/bare')
}

/**
 * The processor time of the page's main thread, in milliseconds since it was made: unlike the time on a clock it
 * holds nothing of what else the machine does. Opened before the navigation.
 */
export async function openMeter(page: Page): Promise<() => Promise<number>> {
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' })
  return async () => {
    const { metrics } = await devtools.send('Performance.getMetrics')
    return 1000 * (metrics.find(({ name }) => name === 'TaskDuration')?.value ?? Number.NaN)
  }
}
