import type { TypedDocumentString } from '../../__generated__/graphql.ts'
import { post, Refusal } from './request.ts'

/**
 * Reads through GraphQL. Documents stand in .graphql files beside the code that asks; `npm run generate` types them
 * against the schema, as `…Document` of __generated__/graphql.ts.
 * @throws Refusal: the first error refuses the whole
 */
export async function ask<Data, Variables>(
  document: TypedDocumentString<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
): Promise<Data> {
  const answer = await post<{
    data?: Data
    errors?: { message: string; extensions?: { code?: string; status?: number } }[]
  }>('/graphql', { query: document.toString(), variables }, signal)
  const [error] = answer.errors ?? []
  if (error !== undefined)
    throw new Refusal(error.extensions?.status ?? 400, {
      detail: error.message,
      code: error.extensions?.code?.toLowerCase(),
    })
  return answer.data as Data
}
