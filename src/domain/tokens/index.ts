/** Tokens of programs (contract §3): reporters send events with them, notebooks read with them. */
export { findToken, listTokens, validTokens } from './reads.ts'
export { bindTokens, lockBindings, revokeTokensOf, type TokenBinding } from './rerun-token.ts'
export { makeToken, TOKEN_SCOPES, tokenHash, tokenKind } from './token.ts'
export { type TokenView, tokenFields } from './token-fields.ts'
export { createToken, revokeToken, touchToken } from './writes.ts'
