export { createGpuHours, type GpuHours } from './gpu-hours.ts'
export {
  ACTIVITY_TYPES,
  type Activity,
  type ActivityPosition,
  activityOf,
  type Summary,
  summaryOf,
} from './reads.ts'
