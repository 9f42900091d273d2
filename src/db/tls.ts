import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { isIP, type Socket } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import * as tls from 'node:tls'
import certificates from 'pg/lib/crypto/cert-signatures.js'
import { codeOf, messageOf } from '../thrown.ts'
import type { Host, TlsSettings } from './address.ts'

/** TLS of a connection to the database, with the modes and files of libpq (its documentation, 34.19). */

/** The code of an error that says what is wrong with TLS and what to do. */
export const TLS_FAULT = 'DATABASE_TLS'

const fault = (message: string, cause?: unknown): Error =>
  Object.assign(new Error(message, { cause }), { code: TLS_FAULT })

const defaultFile = (name: string): string | undefined => {
  const path = join(homedir(), '.postgresql', name)
  return existsSync(path) ? path : undefined
}

function read(parameter: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw fault(`the file of ${parameter} cannot be read: ${messageOf(error)}`)
  }
}

/** As libpq: a private key that others can read is not used. */
function readKey(path: string): Buffer {
  const key = read('sslkey', path)
  const { mode, uid } = statSync(path)
  const allowed = uid === 0 ? 0o640 : 0o600
  if (process.platform !== 'win32' && (mode & 0o777 & ~allowed) !== 0)
    throw fault(`the private key ${path} can be read by others: chmod 600 ${path}`)
  return key
}

/** What certificates must be signed by; undefined: an authority that Node.js trusts. */
function authorities(settings: TlsSettings): { file: boolean; ca: Buffer | string[] | undefined } {
  const path = settings.rootCert ?? defaultFile('root.crt')
  if (path === undefined) return { file: false, ca: undefined }
  if (path !== 'system') return { file: true, ca: read('sslrootcert', path) }
  const { getCACertificates } = tls as unknown as { getCACertificates?: (of: string) => string[] }
  const ca =
    getCACertificates === undefined
      ? undefined
      : [...getCACertificates('default'), ...getCACertificates('system')]
  return { file: true, ca }
}

/** @throws Error with TLS_FAULT if a file cannot be used */
export function tlsOptions(settings: TlsSettings, host: Host): tls.ConnectionOptions {
  const { mode } = settings
  const name = host.name || host.address || 'localhost'
  const { file, ca } = authorities(settings)
  const certPath = settings.cert ?? defaultFile('postgresql.crt')
  const keyPath = settings.key ?? defaultFile('postgresql.key')
  if (settings.cert !== undefined && keyPath === undefined)
    throw fault('sslcert needs sslkey, the private key of that certificate')
  return {
    host: name,
    ...(settings.sni && isIP(name) === 0 && { servername: name }),
    // As libpq: the signature is checked whenever there is a file to check it by.
    rejectUnauthorized: mode.startsWith('verify') || (file && mode !== 'no-verify'),
    ...(mode !== 'verify-full' && { checkServerIdentity: () => undefined }),
    ...(ca !== undefined && { ca }),
    ...(certPath !== undefined &&
      keyPath !== undefined && { cert: read('sslcert', certPath), key: readKey(keyPath) }),
    ...(settings.keyPassword !== undefined && { passphrase: settings.keyPassword }),
    ...(settings.crl !== undefined && { crl: read('sslcrl', settings.crl) }),
    minVersion: (settings.minVersion ?? 'TLSv1.2') as tls.SecureVersion,
    ...(settings.maxVersion !== undefined && { maxVersion: settings.maxVersion as tls.SecureVersion }),
    ...(settings.direct && { ALPNProtocols: ['postgresql'] }),
  }
}

const UNTRUSTED =
  /^(SELF_SIGNED_CERT|DEPTH_ZERO|UNABLE_TO_(GET|VERIFY|DECRYPT)|CERT_SIGNATURE|CERT_UNTRUSTED|INVALID_CA)/

/** Says what is wrong and what to do. */
export function tlsFault(error: unknown, settings: TlsSettings): Error {
  if (codeOf(error) === TLS_FAULT) return error as Error
  const code = codeOf(error) ?? ''
  if (UNTRUSTED.test(code))
    return fault(
      settings.rootCert === undefined
        ? `its certificate is not signed by an authority that is trusted here (${code}): set sslrootcert to the file of its CA`
        : `its certificate is not signed by the CA in ${settings.rootCert} (${code}): correct sslrootcert`,
      error,
    )
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return fault(
      `its certificate is for another name (${messageOf(error).replace(/^.*altnames: /, '')}): use a name in the certificate, or sslmode=verify-ca`,
      error,
    )
  if (code === 'CERT_HAS_EXPIRED')
    return fault('its certificate, or that of its CA, has expired: renew it', error)
  if (code === 'CERT_NOT_YET_VALID')
    return fault('its certificate is not valid yet: see the clocks of both machines', error)
  return fault(
    `TLS failed (${code || messageOf(error)}): see sslmode, sslcert, sslkey and ssl_min_protocol_version`,
    error,
  )
}

export const refusesTls = ({ mode }: TlsSettings): Error =>
  fault(`it does not offer TLS, and sslmode is ${mode}: turn on ssl at the server, or set sslmode=disable`)

const BINDING_HEADER = 'p=tls-server-end-point,,'

/** The data that bind a sign-in to this TLS connection; undefined where the certificate allows none. */
export function channelBindingOf(socket: tls.TLSSocket): Buffer | undefined {
  const { raw } = socket.getPeerCertificate() as { raw?: Buffer }
  if (raw === undefined) return undefined
  try {
    const hash = certificates.signatureAlgorithmHashFromCertificate(raw)
    const usable = hash === 'MD5' || hash === 'SHA-1' ? 'SHA-256' : hash
    return Buffer.concat([
      Buffer.from(BINDING_HEADER),
      createHash(usable.replace('-', '')).update(raw).digest(),
    ])
  } catch {
    return undefined
  }
}

const AUTHENTICATION = 'R'.charCodeAt(0)
const SASL = 10

/** Breaks a connection whose server asks for a password in a way that is not bound to TLS (`channel_binding=require`). */
export function requireChannelBinding(socket: Socket, bound: boolean): void {
  let received = Buffer.alloc(0)
  const check = (chunk: Buffer): void => {
    received = Buffer.concat([received, chunk])
    if (received.length < 9 && received[0] === AUTHENTICATION) return
    socket.off('data', check)
    // An error of the server is for the client to report.
    if (received[0] !== AUTHENTICATION) return
    const offered = received.readUInt32BE(5) === SASL && received.includes('SCRAM-SHA-256-PLUS')
    if (!bound || !offered)
      socket.destroy(
        fault(
          'channel_binding is require, and the server does not offer it for this account: it needs TLS and a password stored with scram-sha-256',
        ),
      )
  }
  socket.prependListener('data', check)
}
