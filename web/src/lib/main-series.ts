/**
 * Which series is the loss and which the learning rate, by the names that training libraries log. The service keeps the
 * same names beyond its limit of series (src/domain/metrics/main-series.ts).
 */

/** Losses, in order of preference. */
export const LOSSES: readonly string[] = [
  'val_loss',
  'val/loss',
  'valid_loss',
  'valid/loss',
  'validation_loss',
  'validation/loss',
  'eval_loss',
  'eval/loss',
  'train_loss',
  'train/loss',
  'training_loss',
  'training/loss',
  'loss',
]
export const LEARNING_RATES: readonly string[] = ['lr', 'learning_rate', 'train/lr', 'train/learning_rate']

export const isLoss = (name: string): boolean => /loss/i.test(name)

/** The main metric: a loss, if there is one, else the first series. */
export const mainSeries = (names: readonly string[]): string | undefined =>
  LOSSES.find((name) => names.includes(name)) ?? names.find(isLoss) ?? names[0]
