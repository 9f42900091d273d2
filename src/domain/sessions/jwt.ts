import { errors, jwtVerify, SignJWT } from 'jose'
import type { Db } from '../../db/sql.ts'
import { isUuid } from '../uuid.ts'
import { type SigningKey, verifyingSecret } from './keys.ts'
import { JWT_LIFE_S } from './session.ts'

/**
 * HS256: only this service verifies, it holds the key in its database anyway, and a MAC costs a
 * tenth of a signature.
 */
const ALGORITHM = 'HS256'
const ISSUER = 'svc'
const AUDIENCE = 'svc'

export interface Claims {
  userId: string
  sessionId: string
}

/** @returns the token and when it expires, in whole seconds */
export async function signSession(
  key: SigningKey,
  claims: Claims,
  now: Date,
): Promise<{ token: string; expiresAt: Date }> {
  const issuedAt = Math.floor(now.getTime() / 1000)
  const token = await new SignJWT({ sid: claims.sessionId })
    .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: 'JWT' })
    .setIssuer(ISSUER)
    .setAudience(AUDIENCE)
    .setSubject(claims.userId)
    .setIssuedAt(issuedAt)
    .setExpirationTime(issuedAt + JWT_LIFE_S)
    .sign(key.secret)
  return { token, expiresAt: new Date((issuedAt + JWT_LIFE_S) * 1000) }
}

/**
 * The claims of a token that one of our keys signed, that is for us and has not expired; else undefined. Says
 * nothing about whether its session still lives.
 */
export async function verifySession(db: Db, token: string, now: Date): Promise<Claims | undefined> {
  try {
    const { payload } = await jwtVerify(
      token,
      async ({ kid }) => {
        const secret =
          typeof kid === 'string' && /^[\w-]{1,64}$/.test(kid)
            ? await verifyingSecret(db, kid, now)
            : undefined
        if (secret === undefined) throw new errors.JWKSNoMatchingKey()
        return secret
      },
      {
        algorithms: [ALGORITHM],
        typ: 'JWT',
        issuer: ISSUER,
        audience: AUDIENCE,
        requiredClaims: ['sub', 'sid', 'iat', 'exp'],
        currentDate: now,
      },
    )
    const { sub, sid } = payload
    if (typeof sub !== 'string' || typeof sid !== 'string' || !isUuid(sub) || !isUuid(sid)) return undefined
    return { userId: sub, sessionId: sid }
  } catch (error) {
    // Errors of jose mean an invalid token; errors of the database are thrown.
    if (error instanceof errors.JOSEError) return undefined
    throw error
  }
}
