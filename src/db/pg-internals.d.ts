/**
 * A file of `pg` that its package exports and its types leave out. Node has the algorithm of a certificate's signature only
 * from 24.9 (`X509Certificate.signatureAlgorithm`).
 */
declare module 'pg/lib/crypto/cert-signatures.js' {
  /** The hash that channel binding takes of a certificate. Throws for a signature that PostgreSQL has no hash for. */
  export function signatureAlgorithmHashFromCertificate(certificate: Buffer): string
}
