/** Attempts of a job, by restarts and reruns. They are computed from the stored events and not stored. */

export { type Attempt, attemptFields } from './attempt-fields.ts'
export type { AttemptedJob } from './latest.ts'
export { type AttemptPoints, pointsOf } from './points.ts'
export { attemptsOfJobs, spansOf } from './reads.ts'
export { rerunsOfJobs } from './reruns.ts'
