import { z } from 'zod'
import { PASSWORD, type User } from '../../domain/users/index.ts'

/** Shapes that several routes share, as they stand on the wire. */
export const nothing = z.strictObject({})
/** The body of an action without input: none (null to the framework), or an empty object. */
export const noInput = nothing.nullish()
export const noContent = z.null().describe('Nothing')
export const instant = z.string().meta({ format: 'date-time' })
export const byId = z.object({ id: z.string() })

/** A time that comes in: one that the calendar has, so no 30 February, and the database too, so no year 0. */
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

/** Where a list of things that are ordered by their creation goes on. */
export const creationPosition = z.object({ createdAt: instantText, id: z.uuid() })

/** One line that people read: no control characters, no half of a surrogate pair. */
export const label = z
  .string()
  .regex(
    /^(?!\s)[^\p{Cc}\p{Cs}]{1,128}(?<!\s)$/u,
    'must be 1 to 128 characters in one line, not beginning or ending in white space',
  )

/** What browsers take for an address, in the length that mail can carry. */
export const email = z
  .email({ pattern: z.regexes.html5Email, error: 'must be an e-mail address' })
  .max(254, 'must be at most 254 characters')

export const newPassword = z
  .string()
  .regex(PASSWORD, 'must be 8 to 1,024 characters')
  .meta({ minLength: 8, maxLength: 1024, format: 'password' })
/** A password that is only compared: whatever cannot be right is wrong rather than invalid. */
export const triedPassword = z.string().max(4096).meta({ format: 'password' })

export const userShape = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'user']),
  email_verified: z.boolean().describe('Whether they proved that the address is theirs'),
  created_at: instant,
})

export const showUser = (user: User): z.output<typeof userShape> => ({
  id: user.id,
  email: user.email,
  name: user.name,
  role: user.role,
  email_verified: user.emailVerified,
  created_at: user.createdAt,
})
