/** Common names of the parameter with the number of epochs; the first that is a count is used. */
export const PLANNED_EPOCHS = [
  'epochs',
  'max_epochs',
  'n_epochs',
  'num_epochs',
  'num_train_epochs',
  'total_epochs',
  'epochs_planned',
] as const

/** The same of its steps. Names that also mean another length, such as `n_steps` of a rollout, are left out. */
const STEPS = [
  'steps',
  'max_steps',
  'total_steps',
  'num_training_steps',
  'total_timesteps',
  'max_iters',
] as const
/** What boosting calls its rounds, which are its epochs. */
const ROUNDS = ['num_boost_round', 'n_estimators'] as const

export const PLANNED_PARAMS = [...PLANNED_EPOCHS, ...STEPS, ...ROUNDS] as const

export interface PlannedLength {
  /** The length in the unit of the job's steps. */
  length: number
  /** Whether these are epochs, whose first is 0 or 1; else the first one says how they are counted. */
  inEpochs: boolean
}

/**
 * What may be the planned length of a job on the axis of its series, the likeliest first: an axis of steps is often
 * without a name, and parameters have both lengths. One that the job is past is not the length.
 * @param params the extra fields of job_start
 * @param stepUnit null: epochs, as far as is known
 */
export function plannedLengths(params: Record<string, unknown>, stepUnit: string | null): PlannedLength[] {
  const epochs = { length: firstCount(params, [...PLANNED_EPOCHS, ...ROUNDS]), inEpochs: true }
  const steps = { length: firstCount(params, STEPS), inEpochs: false }
  const inOrder = stepUnit === null || /^epochs?$/i.test(stepUnit) ? [epochs, steps] : [steps, epochs]
  return inOrder.flatMap(({ length, inEpochs }) => (length === null ? [] : { length, inEpochs }))
}

function firstCount(params: Record<string, unknown>, names: readonly string[]): number | null {
  for (const name of names) {
    const value = params[name]
    if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return Math.ceil(value)
  }
  return null
}
