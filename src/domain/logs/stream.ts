/** The streams of a process that its lines may come from (contract §10). */
export const LOG_STREAMS = ['stdout', 'stderr'] as const
export type LogStream = (typeof LOG_STREAMS)[number]

/** The stream in `data.stream` of a log_line; null for any other value. */
export const streamOf = (value: unknown): LogStream | null =>
  LOG_STREAMS.find((stream) => stream === value) ?? null
