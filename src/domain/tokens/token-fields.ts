import { type Fields, instant, nullable, text, uuid, type ViewOf, word } from '../field.ts'
import { TOKEN_SCOPES } from './token.ts'

/** The fields of a token as its owner sees it (specification §2.3 "API token"): never the token itself. */
export const tokenFields = {
  id: { type: uuid, column: 'id', public: 'hidden' },
  name: { type: text, column: 'name', public: 'hidden' },
  scope: { type: word(TOKEN_SCOPES), means: 'reporter or read', column: 'scope', public: 'hidden' },
  last4: { type: text, means: 'Its last four characters', column: 'last4', public: 'hidden' },
  created_at: { type: instant, column: 'created_at', public: 'hidden' },
  last_used_at: { type: nullable(instant), column: 'last_used_at', public: 'hidden' },
} as const satisfies Fields

/** A token in the API. */
export type TokenView = ViewOf<typeof tokenFields>
