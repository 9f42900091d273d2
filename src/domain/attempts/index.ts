/** What a restart or a rerun makes of a job: attempts, read from the stored events; nothing of them is kept. */

export { type Attempt, attemptFields } from './attempt-fields.ts'
export type { AttemptedJob } from './latest.ts'
export { type AttemptPoints, pointsOf } from './points.ts'
export { attemptsOfJobs, spanOf } from './reads.ts'
export { rerunsOfJobs } from './reruns.ts'
