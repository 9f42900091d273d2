/** Tokens of programs (contract §3): reporters send events with them, notebooks read with them. */
export { type FoundToken, findToken, listTokens, type Token, type TokenPosition } from './reads.ts'
export { TOKEN_SCOPES, tokenKind, type TokenScope } from './token.ts'
export { createToken, revokeToken, touchToken } from './writes.ts'
