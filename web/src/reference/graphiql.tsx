import 'graphiql/style.css'
import './graphiql.css'
import CodeMirror from 'codemirror'
import { GraphiQL, type GraphiQLProps } from 'graphiql'
import { getOperationAST, parse } from 'graphql'
import { createClient } from 'graphql-sse'
import { createRoot } from 'react-dom/client'
import { chosenTheme } from './chosen-theme.ts'

/** The page has the address of the endpoint. */
const URL = location.pathname
const QUERY = `# The best jobs of your latest batches.
# Ctrl+Enter runs the query, Ctrl+Space completes a name.
#
# It runs as the signed-in user. For another token,
# write below, into Headers:
#   {"Authorization": "Bearer …"}
query Best($metric: String! = "val_loss") {
  batches(first: 5) {
    edges {
      node {
        id
        status
        jobs(
          first: 10
          orderBy: { by: LATEST, key: $metric, direction: ASC }
        ) {
          totalCount
          edges { node { jobId status params latest } }
        }
      }
    }
  }
}
`
const SUBSCRIPTION = `# The batches that start or end from now on.
# The button also stops it.
# "batch:ID" and "project:NAME" follow more closely.
subscription Live {
  live(channels: ["dashboard"]) {
    at
    channel
    type
    payload
  }
}
`

type Fetcher = GraphiQLProps['fetcher']
type Params = Parameters<Fetcher>[0]
type Headers = Record<string, string>
type Values = Record<string, unknown>

/** Queries as JSON; subscriptions as server-sent events, by the client of the protocol that the service has. */
const fetcher: Fetcher = (params, { headers = {} } = {}) => {
  const operation = operationOf(params)
  const request = { ...params, operationName: operation?.name?.value ?? null }
  return operation?.operation === 'subscription' ? subscribe(request, headers) : ask(request, headers)
}

/** The operation to run. Just after a change of the document GraphiQL still names one of the document before. */
function operationOf({ query, operationName }: Params) {
  try {
    const document = parse(query)
    return getOperationAST(document, operationName) ?? getOperationAST(document)
  } catch {
    // The answer of the service names the fault.
    return null
  }
}

async function ask(params: Params, headers: Headers) {
  const answer = await fetch(URL, {
    method: 'POST',
    headers: { accept: 'application/json', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(params),
  })
  return answer.json()
}

const subscribe = ({ query, variables, operationName }: Params, headers: Headers) =>
  createClient({ url: URL, headers, retryAttempts: 0 }).iterate<Values, Values>({
    query,
    variables,
    ...(operationName && { operationName }),
  })

/** The names of the editors for screen readers, by the mode of each: GraphiQL gives them none. */
const EDITORS = new Map([
  ['graphql', 'Query'],
  ['graphql-variables', 'Variables'],
  ['javascript', 'Headers'],
  ['graphql-results', 'Answer'],
])
function nameEditors(): void {
  CodeMirror.defineInitHook((editor) => {
    const mode = editor.getOption('mode')
    const name = EDITORS.get(typeof mode === 'string' ? mode : (mode?.name ?? ''))
    if (name !== undefined) editor.getInputField().setAttribute('aria-label', name)
  })
}

/** The storage of the browser without headers: GraphiQL's history would keep the tokens in them. */
const storage = {
  get length() {
    return localStorage.length
  },
  getItem: (key: string) => localStorage.getItem(key),
  removeItem: (key: string) => localStorage.removeItem(key),
  clear: () => localStorage.clear(),
  setItem(key: string, value: string) {
    const isHistory = key === 'graphiql:queries' || key === 'graphiql:favorites'
    localStorage.setItem(key, isHistory ? withoutHeaders(value) : value)
  },
}
const withoutHeaders = (json: string): string =>
  JSON.stringify(JSON.parse(json), (name, value) => (name === 'headers' ? undefined : value))

export function showGraphiql(root: HTMLElement): void {
  nameEditors()
  createRoot(root).render(
    <GraphiQL
      fetcher={fetcher}
      storage={storage}
      showPersistHeadersSettings={false}
      forcedTheme={chosenTheme() ?? 'system'}
      defaultTabs={[{ query: QUERY }, { query: SUBSCRIPTION }]}
    />,
  )
}
