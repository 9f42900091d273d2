export { createDashboardCache, type DashboardCache } from './cache.ts'
export { sumSnapshots } from './gpu-seconds.ts'
export {
  ACTIVITY_TYPES,
  type Activity,
  type ActivityPosition,
  activityOf,
  summaryOf,
} from './reads.ts'
export { type Summary, summaryFields } from './summary-fields.ts'
