import { escapeHtml as text } from '../../domain/escape-html.ts'
import { PROBLEMS } from '../../problem.ts'
import { EVERYWHERE } from '../server/refusals.ts'
import type { ApiDocument, Operation, Parameter, Schema } from './openapi-parts.ts'

interface Entry {
  method: string
  path: string
  operation: Operation
  anchor: string
}

/** The API reference as one page of HTML without scripts, generated from the OpenAPI document. */
export function docsPage(document: ApiDocument): string {
  const entries = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(
      ([method, operation]): Entry => ({
        method: method.toUpperCase(),
        path,
        operation,
        anchor: operation.operationId ?? `${method}${path}`,
      }),
    ),
  )
  const tags = [...new Set(entries.map((entry) => tagOf(entry)))]
  const of = (tag: string): Entry[] => entries.filter((entry) => tagOf(entry) === tag)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(document.info.title)}: API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/api/docs.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<nav aria-label="Operations">
<a href="/api/openapi.json">openapi.json</a>
${tags.map((tag) => `<p>${text(tag)}</p><ul>${of(tag).map(navItem).join('')}</ul>`).join('\n')}
<p>Shapes</p><ul>${Object.keys(document.components.schemas)
    .map((name) => `<li><a href="#${shapeAnchor(name)}">${text(name)}</a></li>`)
    .join('')}</ul>
</nav>
<main id="content">
${introduction(document)}
${tags.map((tag) => `<h2>${text(tag)}</h2>\n${of(tag).map(section).join('\n')}`).join('\n')}
<h2>Shapes</h2>
${Object.entries(document.components.schemas)
  .map(
    ([name, schema]) => `<section id="${shapeAnchor(name)}"><h3>${text(name)}</h3>${shape(schema)}</section>`,
  )
  .join('\n')}
</main>
</body>
</html>
`
}

const tagOf = ({ operation }: Entry): string => operation.tags?.[0] ?? 'other'
const shapeAnchor = (name: string): string => `shape-${name}`
const method = (name: string): string => `<span class="method ${name}">${name}</span>`
const navItem = ({ method: name, path, anchor }: Entry): string =>
  `<li><a href="#${anchor}">${method(name)} ${text(path.replace(/^\/api/, ''))}</a></li>`

function introduction({ info }: ApiDocument): string {
  const codes = EVERYWHERE.map((code) => `<code>${code}</code> (${PROBLEMS[code][0]})`).join(', ')
  return `<h1>${text(info.title)}: API</h1>
<p>${text(info.description ?? '')}</p>
<p>Bodies are JSON in UTF-8, times are ISO 8601 in UTC. Send <code>Authorization: Bearer …</code> with a reporter
token, a read token or the JWT of a session; pages of this address may use the session's cookie.</p>
<p>A list answers <code>{"items": […], "next_cursor": …}</code>; hand <code>next_cursor</code> back as
<code>cursor</code> until it is null. Unknown query parameters are refused.</p>
<p>A refusal is an <a href="#${shapeAnchor('Problem')}"><code>application/problem+json</code></a> with a stable
<code>code</code>. Any route may answer ${codes}; the others are listed with their route.</p>`
}

function section({ method: name, path, operation, anchor }: Entry): string {
  const { summary = '', description, parameters = [], requestBody, responses } = operation
  const body = requestBody?.content['application/json']?.schema
  const answers = Object.entries(responses)
  const good = answers.filter(([status]) => Number(status) < 400)
  const refusals = answers.filter(([status]) => Number(status) >= 400)
  const open = operation.security?.length === 0 ? '<p class="faint">Needs no credential.</p>' : ''
  return `<section id="${anchor}">
<h3>${method(name)} <code>${text(path)}</code></h3>
<p>${text(summary)}</p>
${description === undefined ? '' : `<p class="faint">${prose(description)}</p>`}
${open}
${parameters.length === 0 ? '' : `<h4>Parameters</h4><ul>${parameters.map(parameter).join('')}</ul>`}
${body === undefined ? '' : `<h4>Body${requestBody?.required === false ? ' (may be left out)' : ''}</h4>${shape(body)}`}
${good
  .map(
    ([status, answer]) =>
      `<h4>${status} ${text(answer.description)}</h4>${Object.values(answer.content ?? {})
        .map((content) => shape(content.schema))
        .join('')}`,
  )
  .join('\n')}
${refusals.length === 0 ? '' : `<details><summary>Refusals</summary><ul>${refusals.map(([status, answer]) => field(status, prose(answer.description))).join('')}</ul></details>`}
</section>`
}

const parameter = ({ name, in: place, required, description, schema }: Parameter): string =>
  field(
    `<code>${text(name)}</code> <span class="faint">${place}, ${kind(schema)}${required ? ', required' : ''}</span>`,
    prose(description ?? schema.description ?? ''),
  )

/** @param head and note are safe HTML */
const field = (head: string, note: string): string =>
  `<li>${head}${note === '' ? '' : `<p class="note">${note}</p>`}</li>`

/** A schema as nested lists; inner objects are collapsed. */
function shape(schema: Schema): string {
  const rows = Object.entries(schema.properties ?? {})
  if (rows.length > 0) {
    return `<ul>${rows.map(([name, inner]) => property(name, inner, schema.required?.includes(name) ?? false)).join('')}</ul>`
  }
  const inner = innerOf(schema)
  const note =
    schema.description === undefined ? '' : ` <span class="faint">${prose(schema.description)}</span>`
  return `<p>${kind(schema)}${note}</p>${inner.map(shape).join('')}`
}

function property(name: string, schema: Schema, required: boolean): string {
  const head = `<code>${text(name)}</code> <span class="faint">${kind(schema)}${required ? '' : ', optional'}</span>`
  const note = prose(schema.description ?? '')
  const inner = schema.properties === undefined ? innerOf(schema) : [schema]
  if (inner.length === 0) return field(head, note)
  return field(`<details><summary>${head}</summary>${inner.map(shape).join('')}</details>`, note)
}

/** The inner objects of a schema that are shown: of its items, its alternatives, its additional properties. */
function innerOf(schema: Schema): Schema[] {
  const free = typeof schema.additionalProperties === 'object' ? [schema.additionalProperties] : []
  return [schema.items ? [schema.items] : [], schema.anyOf ?? [], schema.oneOf ?? [], free]
    .flat()
    .filter((one) => one.properties !== undefined || innerOf(one).length > 0)
}

/** A short description of the valid values, as safe HTML. */
function kind(schema: Schema): string {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.split('/').at(-1) ?? ''
    return `<a href="#${shapeAnchor(name)}">${text(name)}</a>`
  }
  if (schema.enum !== undefined) {
    return schema.enum.map((one) => `<code>${text(JSON.stringify(one))}</code>`).join(' or ')
  }
  const several = schema.anyOf ?? schema.oneOf
  if (several !== undefined) return [...new Set(several.map(kind))].join(' or ')
  if (schema.items !== undefined) return `array of ${kind(schema.items)}`
  const type = [schema.type ?? 'anything'].flat().join(' or ')
  return text(
    [schema.format === undefined ? type : `${type} (${schema.format})`, ...limits(schema)].join(', '),
  )
}

function limits(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  const range = (least: number | undefined, most: number | undefined, unit: string): string[] => {
    // These are the bounds of every integer.
    const from = least === undefined || least <= Number.MIN_SAFE_INTEGER ? undefined : least
    const to = most === undefined || most >= Number.MAX_SAFE_INTEGER ? undefined : most
    if (from === undefined && to === undefined) return []
    if (from === undefined) return [`at most ${to}${unit}`]
    return [to === undefined ? `at least ${from}${unit}` : `${from} to ${to}${unit}`]
  }
  return [
    ...range(minimum, maximum, ''),
    ...range(minLength, maxLength, ' characters'),
    ...range(minItems, maxItems, ' items'),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`]),
  ]
}

/** Text as HTML: words between backticks become code. */
const prose = (raw: string): string => text(raw).replace(/`([^`]+)`/g, '<code>$1</code>')
