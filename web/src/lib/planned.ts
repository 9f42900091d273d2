/** Parameters that give the planned number of epochs, as the service reads them for progress and ETA. */
export const PLANNED_EPOCHS = [
  'epochs',
  'max_epochs',
  'n_epochs',
  'num_epochs',
  'num_train_epochs',
  'total_epochs',
  'epochs_planned',
] as const

/** The planned number of epochs, from a job's parameters; null if none gives it. */
export function plannedEpochs(params: Record<string, unknown>): number | null {
  for (const name of PLANNED_EPOCHS) {
    const value = params[name]
    if (typeof value === 'number' && Number.isFinite(value) && value >= 1) return Math.ceil(value)
  }
  return null
}
