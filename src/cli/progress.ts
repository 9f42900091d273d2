const EVERY_MS = 2_000
const ON_TERMINAL_MS = 200
const WIDTH = 24

export interface Progress {
  /** @param share the part that is done, from 0 to 1, if known */
  update(text: string, share?: number): void
  end(text: string): void
}

/**
 * Reports the progress of a long task on standard error: on a terminal as a bar in one line, else every two seconds.
 */
export function createProgress(): Progress {
  const terminal = process.stderr.isTTY === true
  const every = terminal ? ON_TERMINAL_MS : EVERY_MS
  let next = performance.now() + every
  const write = (text: string, end: string): boolean =>
    process.stderr.write(terminal ? `\r\x1b[K${text}${end}` : `${text}\n`)
  return {
    update(text, share) {
      if (performance.now() < next) return
      next = performance.now() + every
      write(`svc: ${share === undefined ? '' : `${terminal ? bar(share) : percent(share)} `}${text}`, '')
    },
    end: (text) => void write(`svc: ${text}`, '\n'),
  }
}

function bar(share: number): string {
  const done = Math.round(Math.min(1, Math.max(0, share)) * WIDTH)
  return `[${'#'.repeat(done)}${'-'.repeat(WIDTH - done)}] ${percent(share)}`
}

const percent = (share: number): string => `${Math.floor(Math.min(1, share) * 100)} %`.padStart(5)

export const amountOf = (rows: number, bytes: number): string =>
  `${rows.toLocaleString('en')} rows, ${(bytes / 1e6).toFixed(1)} MB`

/** Ctrl-C and SIGTERM cancel the task, which then leaves nothing incomplete; a second one ends the process. */
export function stopSignal(): AbortSignal {
  const stopping = new AbortController()
  const stop = (): void => {
    if (stopping.signal.aborted) process.exit(1)
    stopping.abort()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return stopping.signal
}
