import { Secret, TOTP } from 'otpauth'

/** The name of the account in authenticator apps. */
const ISSUER = 'Experiment monitor'
const PERIOD_S = 30
/** Codes of the previous and the next step are valid too, because clocks differ. */
const WINDOW = 1

const generator = (secret: Buffer, label = ''): TOTP =>
  new TOTP({
    issuer: ISSUER,
    label,
    algorithm: 'SHA1',
    digits: 6,
    period: PERIOD_S,
    secret: new Secret({ buffer: new Uint8Array(secret).buffer }),
  })

/** The secret for typing it in (base32), and the address that an authenticator app reads from a QR code. */
export function describeTotp(secret: Buffer, email: string): { secret: string; uri: string } {
  const totp = generator(secret, email)
  return { secret: totp.secret.base32, uri: totp.toString() }
}

/** The time step of the code; undefined for a code that is not valid now. */
export function stepOf(secret: Buffer, code: string, now: Date): number | undefined {
  if (!/^\d{6}$/.test(code)) return undefined
  const delta = generator(secret).validate({ token: code, timestamp: now.getTime(), window: WINDOW })
  return delta === null ? undefined : Math.floor(now.getTime() / 1000 / PERIOD_S) + delta
}
