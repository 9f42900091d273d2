import type { TestApp } from '../kit/app.ts'
import type { Answer } from '../kit/http.ts'

export interface Asked {
  token?: string
  cookie?: string
  variables?: Record<string, unknown>
  headers?: Record<string, string>
}

/** POST /graphql. */
export function post(app: TestApp, query: string, asked: Asked = {}): Promise<Answer> {
  const { variables, ...rest } = asked
  return app.call('POST', '/graphql', { ...rest, body: { query, variables } })
}

/** The data of a query that must succeed. */
// biome-ignore lint/suspicious/noExplicitAny: a test asserts the answer's shape; that is its very purpose
export async function ask(app: TestApp, query: string, asked: Asked = {}): Promise<any> {
  const { status, body } = await post(app, query, asked)
  if (status !== 200 || body.errors !== undefined) throw new Error(`${status} ${JSON.stringify(body)}`)
  return body.data
}

// biome-ignore lint/suspicious/noExplicitAny: as above
export const nodesOf = (connection: any): any[] => connection.edges.map((edge: any) => edge.node)
