/** Makes the Prisma client where it is missing or older than its schema; throws with what Prisma printed. */
export function ensureClient(): void
