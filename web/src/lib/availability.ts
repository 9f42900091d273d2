import { Refusal } from './api/request.ts'
import { served } from './served.ts'

/** Code of the page that could not be loaded: the service is unreachable, or serves another version now. */
class ChunkLoadError extends Error {
  constructor(cause: unknown) {
    super('A part of this page could not be loaded.', { cause })
  }
}
/** Replaces the error of a failed import(), whose message differs between browsers. */
export const loadedChunk = <Code>(code: Promise<Code>): Promise<Code> =>
  code.catch((error: unknown) => {
    throw new ChunkLoadError(error)
  })

export const isChunkLoadError = (error: unknown): boolean => error instanceof ChunkLoadError
/** Whether the service is unreachable or temporarily unavailable, so that a retry may succeed later. */
export const isUnavailable = (error: unknown): boolean =>
  error instanceof Refusal && [0, 502, 503, 504].includes(error.status)

const FIRST_WAIT_MS = 1_000
const MAX_WAIT_MS = 5_000
let waiting: Promise<void> | null = null

/** Resolves once the service answers and works. Only one check runs at a time. */
export function whenServiceIsBack(): Promise<void> {
  waiting ??= poll().finally(() => {
    waiting = null
  })
  return waiting
}

async function poll(): Promise<void> {
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(MAX_WAIT_MS, wait * 1.5)) {
    await new Promise((go) => setTimeout(go, wait))
    const answer = await fetch(served('/readyz'), { cache: 'no-store' }).catch(() => null)
    if (answer?.ok) return
  }
}

/** The error to show instead of data: none if there is earlier data and the service is unavailable. */
export const faultOf = ({ error, data }: { error: Error | null; data: unknown }): Error | null =>
  data !== undefined && isUnavailable(error) ? null : error
