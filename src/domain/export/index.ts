export { type ByteWriter, createByteWriter, MAX_APPEND, MAX_NUMBERS } from './byte-writer.ts'
export { csvRow } from './csv.ts'
export { finalMetricsCsv } from './final-metrics.ts'
export { metricsCsv } from './metrics-csv.ts'

/** Loads the writer of Arrow streams, which is large, with the first export. */
export const loadMetricsArrow = async () => (await import('./metrics-arrow.ts')).metricsArrow
