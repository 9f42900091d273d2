/** Asks users again who they are when the service requires it, and repeats the refused request then. */

export type ProofKind = 'password' | 'code' | 'passkey'
/** The password and a code, as far as the account has them: for changes that weaken its security. */
export interface Proof {
  current_password?: string
  code?: string
}

export interface PendingConfirmation {
  /** The kinds of proof that the account has; none: it has to sign in again. */
  proofs: readonly ProofKind[]
  /** @param confirmed false: the user gave up */
  settle: (confirmed: boolean) => void
}

let pending: PendingConfirmation | null = null
let answer: Promise<boolean> | null = null
const watchers = new Set<() => void>()
const set = (next: PendingConfirmation | null): void => {
  pending = next
  for (const watcher of watchers) watcher()
}

/** Resolves once the user has proved who they are, or has given up. Requests at the same time ask once. */
export function confirmIdentity(proofs: readonly ProofKind[]): Promise<boolean> {
  answer ??= new Promise<boolean>((resolve) => {
    const settle = (confirmed: boolean): void => {
      answer = null
      set(null)
      resolve(confirmed)
    }
    set({ proofs, settle })
  })
  return answer
}

export const pendingConfirmation = (): PendingConfirmation | null => pending
export function watchConfirmation(changed: () => void): () => void {
  watchers.add(changed)
  return () => watchers.delete(changed)
}
