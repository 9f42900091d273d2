export { createDashboardCache, type DashboardCache } from './cache.ts'
export { sumSnapshots } from './gpu-seconds.ts'
export {
  ACTIVITY_TYPES,
  type Activity,
  type ActivityPosition,
  activityOf,
  type Summary,
  summaryOf,
} from './reads.ts'
