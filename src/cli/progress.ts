const EVERY_MS = 2_000

/** Tells on standard error how far a long work is, every two seconds: on a terminal in one line. */
export function createProgress(): { update(text: string): void; end(text: string): void } {
  const terminal = process.stderr.isTTY === true
  let next = performance.now() + EVERY_MS
  const write = (text: string, end: string): boolean =>
    process.stderr.write(terminal ? `\r\x1b[K${text}${end}` : `${text}\n`)
  return {
    update(text) {
      if (performance.now() < next) return
      next = performance.now() + EVERY_MS
      write(`svc: ${text}`, '')
    },
    end: (text) => void write(`svc: ${text}`, '\n'),
  }
}

export const amountOf = (rows: number, bytes: number): string =>
  `${rows.toLocaleString('en')} rows, ${(bytes / 1e6).toFixed(1)} MB`

/** Ctrl-C and SIGTERM end the work, which then leaves nothing half done; a second one ends the process. */
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
