/** Parameters that name how many epochs a job will train, as the service reads them for progress and ETA. */
export const PLANNED_PARAMS = [
  'epochs',
  'max_epochs',
  'n_epochs',
  'num_epochs',
  'num_train_epochs',
  'total_epochs',
  'epochs_planned',
] as const

/** How many epochs a job plans, from its parameters; null where none says so. */
export function plannedEpochs(params: Record<string, unknown>): number | null {
  for (const name of PLANNED_PARAMS) {
    const value = params[name]
    if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return Math.ceil(value)
  }
  return null
}
