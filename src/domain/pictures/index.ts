/** Pictures that the server draws: charts and badges, as SVG and PNG (decision 0042). */
export { badgeOf, STATUS_COLOURS, VALUE_COLOUR } from './badge.ts'
export { type BatchChart, chartOfBatch, MAX_JOBS_DRAWN } from './batch-chart.ts'
export { type Curve, chartOf } from './chart.ts'
export { pngOf } from './png.ts'
export type { Theme } from './scene.ts'
export { svgOf } from './svg.ts'
export { numberText } from './ticks.ts'
