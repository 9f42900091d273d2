/** Common names of the parameter with the number of epochs; the first that is a count is used. */
export const PLANNED_PARAMS = [
  'epochs',
  'max_epochs',
  'n_epochs',
  'num_epochs',
  'num_train_epochs',
  'total_epochs',
  'epochs_planned',
] as const

/** @param params the extra fields of job_start */
export function plannedEpochs(params: Record<string, unknown>): number | null {
  for (const name of PLANNED_PARAMS) {
    const value = params[name]
    if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return Math.ceil(value)
  }
  return null
}
