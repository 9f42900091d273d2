/** Of `pg`, whose types leave it out. */
declare module 'pg/lib/crypto/cert-signatures.js' {
  /** The hash that channel binding takes of a certificate. Throws for a signature that PostgreSQL has no hash for. */
  export function signatureAlgorithmHashFromCertificate(certificate: Buffer): string
}
