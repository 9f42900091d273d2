export interface Subscription {
  url: string
  headers: Record<string, string>
  query: string
  variables: Record<string, unknown>
}
/** Calls `next` with the data of each result. @returns ends the subscription */
export type Subscribe = (subscription: Subscription, next: (data: unknown) => void) => () => void

export const subscribeWithUrql: Subscribe
export const subscribeWithApollo: Subscribe
export const subscribeWithRelay: Subscribe
