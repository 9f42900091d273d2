import { z } from 'zod'
import { MAX_TAGS } from '../../domain/tags.ts'
import { PASSWORD, type User } from '../../domain/users/index.ts'

/** Shapes that several routes share. */
export const nothing = z.strictObject({})
/** The body of an action without input: none (null to the framework), or an empty object. */
export const noInput = nothing.nullish()
export const noContent = z.null().describe('Nothing')
export const instant = z.string().meta({ format: 'date-time' })
export const byId = z.object({ id: z.string() })

/** One line of text: no control characters, no lone surrogates. */
export const label = z
  .string()
  .regex(
    /^(?!\s)[^\p{Cc}\p{Cs}]{1,128}(?<!\s)$/u,
    'must be 1 to 128 characters in one line, not beginning or ending in white space',
  )

export const tags = z.array(label).max(MAX_TAGS)

/** The fields of a body that change tags. */
export const tagEdit = {
  tags: tags.optional().describe('Replaces all tags'),
  add_tags: tags
    .optional()
    .describe('Adds these and keeps the others, including those that another user has just added'),
  remove_tags: tags.optional(),
}

/** The e-mail addresses that browsers accept, in the length that mail allows. */
export const email = z
  .email({ pattern: z.regexes.html5Email, error: 'must be an e-mail address' })
  .max(254, 'must be at most 254 characters')

export const newPassword = z
  .string()
  .regex(PASSWORD, 'must be 8 to 1,024 characters')
  .meta({ minLength: 8, maxLength: 1024, format: 'password' })
/** A password to check. An impossible one is answered as wrong, not as invalid. */
export const triedPassword = z.string().max(4096).meta({ format: 'password' })

export const userShape = z.object({
  id: z.uuid(),
  email: z.string(),
  name: z.string(),
  role: z.enum(['admin', 'user']),
  email_verified: z.boolean().describe('Whether the address is verified'),
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
