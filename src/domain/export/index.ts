export { finalMetricsCsv } from './final-metrics.ts'
export { metricsArrow } from './metrics-arrow.ts'
export { metricsCsv } from './metrics-csv.ts'
export { createPieces, MOST_NUMBERS, type Pieces, ROOM } from './pieces.ts'
