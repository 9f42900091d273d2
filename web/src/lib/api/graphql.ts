import type { TypedDocumentString } from '../../__generated__/graphql.ts'
import { readBringsCursor } from '../live/read-cursors.ts'
import { post, Refusal } from './request.ts'

/**
 * Runs a GraphQL query. Documents are in .graphql files beside the calling code; `npm run generate` types them against
 * the schema, as `…Document` in __generated__/graphql.ts.
 * @throws Refusal for the first error in the response
 */
export async function query<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Data> {
  const answer = await post<{
    data?: Data
    errors?: { message: string; extensions?: { code?: string; status?: number; errors?: unknown } }[]
  }>('/graphql', { query: document.toString(), variables }, signal)
  const [error] = answer.errors ?? []
  if (error !== undefined)
    throw new Refusal(error.extensions?.status ?? 400, {
      detail: error.message,
      code: error.extensions?.code?.toLowerCase(),
      errors: error.extensions?.errors,
    })
  return answer.data as Data
}

/** A query whose data the stream continues from: the response includes a cursor that is not newer than the data. */
export function queryWithCursor<Data extends { streamCursor: string }, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Data> {
  const answer = query(document, variables, signal)
  readBringsCursor(answer.then(({ streamCursor }) => Number(streamCursor)))
  return answer
}

/**
 * Batches requests for parts of one document: parts that are requested almost at the same time, as when a page opens,
 * are sent as one request.
 * @param send requests the wanted parts of `of`; the others are skipped by @include
 */
export function inParts<Part extends string, Data>(
  parts: readonly Part[],
  send: (of: string, wanted: Record<Part, boolean>) => Promise<Data>,
): (of: string, part: Part) => Promise<Data> {
  const waiting = new Map<string, { wanted: Record<Part, boolean>; answer: Promise<Data> }>()
  return (of, part) => {
    let one = waiting.get(of)
    if (one === undefined) {
      const wanted = Object.fromEntries(parts.map((name) => [name, false])) as Record<Part, boolean>
      const moment = new Promise((go) => setTimeout(go))
      const answer = moment.then(() => {
        waiting.delete(of)
        return send(of, wanted)
      })
      one = { wanted, answer }
      waiting.set(of, one)
    }
    one.wanted[part] = true
    return one.answer
  }
}

interface Paged<Node> {
  edges: readonly { node: Node }[]
  pageInfo: { hasNextPage: boolean; endCursor?: string | null | undefined }
}
/** The rows of a connection. */
export const nodesOf = <Node>({ edges }: Pick<Paged<Node>, 'edges'>): Node[] => edges.map(({ node }) => node)
/** The cursor of the next page; null after the last one. */
export const nextOf = ({ pageInfo }: Pick<Paged<unknown>, 'pageInfo'>): string | null =>
  pageInfo.hasNextPage ? (pageInfo.endCursor ?? null) : null

/** The refusal for data that does not exist or is not visible. */
export const notFound = (noun: string): Refusal =>
  new Refusal(404, { code: `${noun}_not_found`, detail: `No such ${noun}` })
export const forbidden = (detail = 'You may not do this'): Refusal =>
  new Refusal(403, { code: 'forbidden', detail })
export const unknown = (): Refusal =>
  new Refusal(401, { code: 'unauthenticated', detail: 'A valid credential is needed' })
