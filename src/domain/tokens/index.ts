/** Tokens of programs (contract §3): reporters send events with them, notebooks read with them. */
export {
  type FoundToken,
  findToken,
  listTokens,
  type Token,
  type TokenPosition,
  validTokens,
} from './reads.ts'
export { TOKEN_SCOPES, type TokenScope, tokenKind } from './token.ts'
export { createToken, revokeToken, touchToken } from './writes.ts'
