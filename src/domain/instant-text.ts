import { z } from 'zod'

/** A time in a request: it must exist in the calendar (no 30 February) and in PostgreSQL (no year 0). */
export const instantText = z
  .string()
  .regex(
    /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/,
    'must be a UTC time such as 2026-01-31T12:00:00Z',
  )
  .refine((text) => {
    const time = Date.parse(text)
    return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text.slice(0, 19))
  }, 'must be a time that the calendar has')
