/** The reporter in a browser or worker, of the service's own origin or one that SVC_REPORTER_ORIGINS names. */
import { type Options, type Platform, Run } from './run.ts'

export type { Event, EventType } from './__generated__/events.ts'
export type { Counts } from './delivery.ts'
export { type Job, type Options, type Run, StopRequested } from './run.ts'

/** Begins a run. It ends by `finish`, or as failed when the page is closed. */
export function init(options: Options): Run {
  const platform: Platform = {
    url: globalThis.location?.origin,
    token: undefined,
    source: { host: globalThis.location?.host ?? 'browser' },
    snapshot: { agent: navigator.userAgent, cwd: globalThis.location?.pathname ?? '' },
    openStore: () => undefined,
    print: (text) => console.info(text),
    watchEnd,
  }
  return new Run(options, platform)
}

function watchEnd(run: Run): () => void {
  const onLeave = (event: PageTransitionEvent) => {
    if (!event.persisted) run.endNow(new Error('the page was closed'))
  }
  globalThis.addEventListener?.('pagehide', onLeave as EventListener)
  return () => globalThis.removeEventListener?.('pagehide', onLeave as EventListener)
}
