export { createDashboardCache, type DashboardCache } from './cache.ts'
export { sumSnapshots } from './gpu-seconds.ts'
export {
  type ActivityPosition,
  activityFields,
  activityOf,
  summaryOf,
} from './reads.ts'
export { type Summary, summaryFields } from './summary-fields.ts'
