export { createDashboardMemory, type DashboardMemory } from './memory.ts'
export {
  ACTIVITY_TYPES,
  type Activity,
  type ActivityPosition,
  activityOf,
  type Summary,
  summaryOf,
} from './reads.ts'
