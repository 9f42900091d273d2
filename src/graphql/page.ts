import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLNamedType,
  type GraphQLSchema,
  getNamedType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
  lexicographicSortSchema,
} from 'graphql'
import { escapeHtml as text } from '../domain/escape-html.ts'

/**
 * The page at /graphql: the schema as documentation, and a form to run queries. It is generated once by the server,
 * works without a network, and needs no inline script.
 */
export interface Page {
  html: string
  script: string
  style: string
}

const EXAMPLE = `# Ctrl+Enter asks. The ten best jobs of each of the latest batches with a small learning rate:
query Best($metric: String!) {
  batches(first: 5) {
    edges {
      node {
        id
        status
        jobs(
          first: 10
          where: { params: [{ key: "lr", op: LT, number: 0.01 }] }
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

export function schemaPage(schema: GraphQLSchema): Page {
  const types = Object.values(lexicographicSortSchema(schema).getTypeMap()).filter(
    (type) => !isIntrospectionType(type) && !isSpecifiedScalarType(type),
  )
  const roots = types.filter(({ name }) => name === 'Query' || name === 'Subscription')
  const others = types.filter((type) => !roots.includes(type))
  const link = ({ name }: GraphQLNamedType) => `<li><a href="#${name}">${name}</a></li>`
  const html = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>GraphQL</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/graphql/page.css">
<script src="/graphql/page.js" defer></script>
</head>
<body>
<nav aria-label="Types"><ul>${[...roots, ...others].map(link).join('')}</ul></nav>
<main>
<h1>GraphQL</h1>
<p>Ask here, or send <code>POST /graphql</code> with <code>Authorization: Bearer …</code> and a read token. What
changes, changes through REST: see <a href="/api/docs">the API</a>.</p>
<form id="ask">
<label for="query">Query</label>
<textarea id="query" rows="18" spellcheck="false" autocomplete="off">${text(EXAMPLE)}</textarea>
<label for="variables">Variables, as JSON</label>
<textarea id="variables" rows="2" spellcheck="false" autocomplete="off">{"metric": "val_loss"}</textarea>
<p><button type="submit">Ask</button> <output id="took" for="query variables" role="status"></output></p>
</form>
<pre id="answer" tabindex="0" aria-label="Answer">The answer comes here.</pre>
${[...roots, ...others].map(section).join('\n')}
</main>
</body>
</html>
`
  return { html, script: SCRIPT, style: STYLE }
}

function section(type: GraphQLNamedType): string {
  return `<section id="${type.name}"><h2>${type.name} <small>${kindOf(type)}</small></h2>${described(type)}${members(type)}</section>`
}

function kindOf(type: GraphQLNamedType): string {
  if (isEnumType(type)) return 'one of'
  if (isInputObjectType(type)) return 'input'
  if (isInterfaceType(type)) return 'interface'
  return isObjectType(type) ? 'type' : 'scalar'
}

function members(type: GraphQLNamedType): string {
  if (isEnumType(type)) {
    return `<dl>${type
      .getValues()
      .map((value) => `<dt><code>${value.name}</code></dt><dd>${text(value.description ?? '')}</dd>`)
      .join('')}</dl>`
  }
  if (isInputObjectType(type)) return `<dl>${Object.values(type.getFields()).map(input).join('')}</dl>`
  if (isObjectType(type) || isInterfaceType(type)) {
    return `<dl>${Object.values(type.getFields()).map(field).join('')}</dl>`
  }
  return ''
}

const field = (of: GraphQLField<unknown, unknown>): string =>
  `<dt><code>${of.name}${of.args.length === 0 ? '' : `(${of.args.map((a) => a.name).join(', ')})`}: ${typed(of)}</code></dt>` +
  `<dd>${text(of.description ?? '')}${of.args.length === 0 ? '' : `<dl>${of.args.map(input).join('')}</dl>`}</dd>`

const input = (of: GraphQLArgument | GraphQLInputField): string =>
  `<dt><code>${of.name}: ${typed(of)}${of.defaultValue === undefined ? '' : ` = ${text(JSON.stringify(of.defaultValue))}`}</code></dt><dd>${text(of.description ?? '')}</dd>`

function typed({
  type,
}: Pick<GraphQLArgument, 'type'> | Pick<GraphQLField<unknown, unknown>, 'type'>): string {
  const named = getNamedType(type)
  const shown = text(String(type))
  if (isSpecifiedScalarType(named)) return shown
  return shown.replace(named.name, `<a href="#${named.name}">${named.name}</a>`)
}

const described = ({ description }: GraphQLNamedType): string =>
  description == null ? '' : `<p>${text(description)}</p>`

const SCRIPT = `'use strict'
const at = (id) => document.getElementById(id)
const say = (text) => { at('answer').textContent = text }
async function ask() {
  let variables
  try {
    variables = at('variables').value.trim() === '' ? {} : JSON.parse(at('variables').value)
  } catch (error) {
    return say('The variables are not JSON: ' + error.message)
  }
  const began = performance.now()
  at('took').textContent = 'asking'
  try {
    const response = await fetch('/graphql', {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ query: at('query').value, variables }),
    })
    const answer = await response.text()
    at('took').textContent = response.status + ' in ' + Math.round(performance.now() - began) + ' ms'
    let shown = answer
    try { shown = JSON.stringify(JSON.parse(answer), null, 2) } catch {}
    say(shown.length > 200000 ? shown.slice(0, 200000) + '\\n(cut off here)' : shown)
  } catch (error) {
    at('took').textContent = ''
    say('The server could not be reached: ' + error.message)
  }
}
at('ask').addEventListener('submit', (event) => { event.preventDefault(); ask() })
at('ask').addEventListener('keydown', (event) => {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) { event.preventDefault(); ask() }
})
`

const STYLE = `:root{color-scheme:light dark;font:16px/1.5 system-ui,sans-serif;background:light-dark(#fff,#14171b);color:light-dark(#1c2127,#e4e8ec)}
a{color:light-dark(#0b63c5,#7db5ff)}
body{margin:0;display:grid;grid-template-columns:18rem minmax(0,1fr)}
nav{position:sticky;top:0;height:100vh;overflow:auto;padding:1rem;box-sizing:border-box}
nav ul{list-style:none;margin:0;padding:0}
main{padding:1rem 2rem;max-width:70rem}
textarea,pre{box-sizing:border-box;width:100%;font:14px/1.45 ui-monospace,monospace;padding:.6rem;border:1px solid #8888;border-radius:4px}
label{display:block;margin-top:.6rem}
pre{overflow:auto;max-height:32rem}
button{font:inherit;padding:.35rem 1.2rem}
dd{margin:0 0 .5rem 1.5rem}
dl dl{margin:.3rem 0}
section{border-top:1px solid #8886;margin-top:1.5rem}
small{font-weight:normal;color:light-dark(#5a6572,#9aa5b1)}
@media (max-width:50rem){body{display:block}nav{position:static;height:auto;max-height:10rem}}
`
