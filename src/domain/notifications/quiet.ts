import { z } from 'zod'

/** The hours of a day in which a rule sends nothing. What fires then comes in a digest after them. This file does no I/O. */

const clockTime = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as 22:00')
const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}

export const quietShape = z
  .strictObject({
    from: clockTime.describe('Start of the quiet hours, such as `22:00`'),
    to: clockTime.describe('End of the quiet hours, such as `07:00`'),
    time_zone: z
      .string()
      .max(64)
      .refine(isTimeZone, 'must be a time zone of the IANA database, such as Europe/Berlin'),
  })
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must differ from `from`' })

export type Quiet = z.output<typeof quietShape>

/** Whether it is quiet at that time. `from` may be later than `to`: the hours then go over midnight. */
export function isQuiet(quiet: Quiet | null, at: Date): boolean {
  if (quiet === null) return false
  const { from, to, time_zone: timeZone } = quiet
  const clock = new Intl.DateTimeFormat('en-GB', { timeZone, hour: '2-digit', minute: '2-digit' }).format(at)
  return from < to ? from <= clock && clock < to : from <= clock || clock < to
}
