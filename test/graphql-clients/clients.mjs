import { ApolloClient, ApolloLink, gql, InMemoryCache } from '@apollo/client'
import { createClient as createUrql, fetchExchange } from '@urql/core'
import { print } from 'graphql'
import { createClient } from 'graphql-sse'
import { Environment, Network, RecordSource, Observable as RelayObservable, Store } from 'relay-runtime'
import { Observable } from 'rxjs'

/** urql's own transport. */
export function subscribeWithUrql({ url, headers, query, variables }, next) {
  const client = createUrql({
    url,
    exchanges: [fetchExchange],
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetchOptions: () => ({ headers }),
  })
  return client.subscription(query, variables).subscribe(({ data }) => next(data)).unsubscribe
}

/** Apollo, by a link of graphql-sse. */
export function subscribeWithApollo({ url, headers, query, variables }, next) {
  const events = createClient({ url, headers, retryAttempts: 0 })
  const link = new ApolloLink(
    (operation) =>
      new Observable((sink) =>
        events.subscribe({ query: print(operation.query), variables: operation.variables }, sink),
      ),
  )
  const client = new ApolloClient({ link, cache: new InMemoryCache() })
  const subscription = client.subscribe({ query: gql(query), variables }).subscribe(({ data }) => next(data))
  return () => {
    subscription.unsubscribe()
    client.stop()
  }
}

/** Relay's network layer, by graphql-sse. */
export function subscribeWithRelay({ url, headers, query, variables }, next) {
  const events = createClient({ url, headers, retryAttempts: 0 })
  const environment = new Environment({
    store: new Store(new RecordSource()),
    network: Network.create(
      () => Promise.reject(new Error('nothing is queried')),
      ({ text }, variables) =>
        RelayObservable.create((sink) => events.subscribe({ query: text, variables }, sink)),
    ),
  })
  const operation = {
    cacheID: 'points',
    id: null,
    metadata: {},
    name: 'Points',
    operationKind: 'subscription',
    text: query,
  }
  return environment
    .getNetwork()
    .execute(operation, variables, {})
    .subscribe({ next: ({ data }) => next(data) }).unsubscribe
}
