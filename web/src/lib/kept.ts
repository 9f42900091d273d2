import { useQuery } from '@tanstack/react-query'
import { settingsQuery } from './account-queries.ts'
import { queryClient } from './query-client.ts'
import { duration, some } from './words.ts'

const DAY_S = 86_400

/** `30 days`, `1 day`, `12 h` */
export const daysText = (days: number): string =>
  Number.isInteger(days) ? some(days, 'day') : duration(days * DAY_S)

/** How many days a deleted batch can be restored; undefined until the setting is loaded. */
export const useKeptDays = (): number | undefined => useQuery(settingsQuery).data?.retention_deleted_days

/** The same for code outside of components; undefined if the setting cannot be loaded. */
export const keptDays = (): Promise<number | undefined> =>
  queryClient.ensureQueryData(settingsQuery).then(
    (settings) => settings.retention_deleted_days,
    () => undefined,
  )
