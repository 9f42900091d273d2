/** More jobs are not named in a request: all are read, and the others are left out here. */
const MAX_NAMED = 50

/** The jobs to ask for; undefined: all. */
export const namedJobs = (jobs: readonly string[], isAll: boolean): readonly string[] | undefined =>
  isAll || jobs.length > MAX_NAMED ? undefined : jobs
