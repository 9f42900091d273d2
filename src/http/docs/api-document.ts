import { STATUS_CODES } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { itemAt } from '../../checked.ts'
import { PROBLEMS, type ProblemCode } from '../../problem.ts'
import { EVERYWHERE, refusalsOf } from '../server/refusals.ts'
import type { ApiDocument, Operation, Schema } from './openapi-parts.ts'

/** The names of shapes that several routes share, each with a route that has it. */
const NAMED: Record<string, (paths: ApiDocument['paths']) => Schema | undefined> = {
  Event: (paths) => bodyOf(paths['/api/events']?.post),
  Batch: (paths) => answerOf(paths['/api/batches/{id}']?.get),
  Job: (paths) => answerOf(paths['/api/jobs/{key}']?.get),
  User: (paths) => answerOf(paths['/api/auth/me']?.get)?.properties?.user,
}
const bodyOf = (operation?: Operation) => operation?.requestBody?.content['application/json']?.schema
const answerOf = (operation?: Operation) => operation?.responses['200']?.content?.['application/json']?.schema

const PROBLEM: Schema = {
  type: 'object',
  description: 'A refusal (RFC 9457)',
  properties: {
    type: { type: 'string', description: 'urn:svc:problem: and the code' },
    title: { type: 'string', description: 'The same for every refusal of this code' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'Details of this refusal' },
    code: { type: 'string', enum: Object.keys(PROBLEMS), description: 'Stable: switch on this' },
    instance: { type: 'string', description: 'The requested path' },
    errors: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          path: { type: 'string', description: 'Where the error is, such as `data.epoch`' },
          message: { type: 'string' },
        },
        required: ['path', 'message'],
      },
    },
    request_id: { type: 'string', description: 'The X-Request-Id of the response' },
  },
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
}

/**
 * The OpenAPI 3.1 document of all routes: what the framework derives from the schemas that validate requests, with
 * names for shared shapes, and with the errors of each route.
 */
export function apiDocument(app: FastifyInstance): ApiDocument {
  const document = structuredClone(app.swagger()) as unknown as ApiDocument
  nameWildcards(document)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      operation.operationId = operationId(method, path)
      tidyBody(operation)
      for (const [status, response] of Object.entries(operation.responses)) {
        if (response.description === 'Default Response') response.description = STATUS_CODES[status] ?? status
        if (status === '204') delete response.content
      }
      addRefusals(operation, [...EVERYWHERE, ...refusalsOf(method.toUpperCase(), path, operation)])
    }
  }
  document.paths = nameShared(document)
  document.paths = plainPatterns(document.paths)
  document.components.schemas = plainPatterns(document.components.schemas)
  document.components.schemas.Problem = PROBLEM
  return document
}

/** The rest of a path, which the framework calls `*`. */
function nameWildcards(document: ApiDocument): void {
  document.paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, operations]) => [path.replace('{*}', '{path}'), operations]),
  )
  const parameters = Object.values(document.paths)
    .flatMap((operations) => Object.values(operations))
    .flatMap((operation) => operation.parameters ?? [])
  for (const parameter of parameters) if (parameter.name === '*') parameter.name = 'path'
}

/** `get /api/batches/{id}/jobs` → `getBatchesByIdJobs`. */
function operationId(method: string, path: string): string {
  const words = path
    .replace(/^\/api\//, '/')
    .replace(/\{(\w+)\}/g, 'by-$1')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
  return method + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

/** An action without input accepts an empty object or no body, which JSON Schema can only express as null. */
function tidyBody({ requestBody }: Operation): void {
  const media = requestBody?.content['application/json']
  const something = media?.schema.anyOf?.filter((one) => one.type !== 'null')
  if (requestBody === undefined || media === undefined || something?.length !== 1) return
  requestBody.required = false
  media.schema = itemAt(something, 0)
}

function addRefusals(operation: Operation, codes: readonly ProblemCode[]): void {
  for (const status of new Set(codes.map((code) => PROBLEMS[code][0]))) {
    const some = codes.filter((code) => PROBLEMS[code][0] === status)
    operation.responses[status] = {
      description: some.map((code) => `\`${code}\`: ${PROBLEMS[code][1]}`).join('. '),
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }
  }
}

/** Moves the named shapes to the components, and replaces each of them by a reference. */
function nameShared({ paths, components }: ApiDocument): ApiDocument['paths'] {
  const names = new Map<string, string>()
  for (const [name, find] of Object.entries(NAMED)) {
    const schema = find(paths)
    if (schema === undefined) continue
    names.set(JSON.stringify(schema), name)
    components.schemas[name] = schema
  }
  const refer = (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const name = names.get(JSON.stringify(value))
    if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
    if (Array.isArray(value)) return value.map(refer)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, refer(inner)]))
  }
  return refer(paths) as ApiDocument['paths']
}

/**
 * Removes classes by Unicode property from patterns: JSON Schema recommends only plain patterns of ECMA-262, and
 * request generators in other languages do not support these classes. JSON text cannot contain a lone surrogate, so
 * that class is not needed.
 */
function plainPatterns<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plainPatterns) as T
  const entries = Object.entries(value).filter(
    // The pattern is what browsers take for an address; the format allows less of some and more of others.
    ([key, inner]) => !(key === 'format' && inner === 'email' && 'pattern' in value),
  )
  return Object.fromEntries(
    entries.map(([key, inner]) => [
      key,
      key === 'pattern' && typeof inner === 'string'
        ? inner
            .replaceAll('\\p{Cc}', '\\u0000-\\u001f\\u007f-\\u009f')
            .replaceAll('\\p{Cs}', '')
            .replaceAll('\\P{Cs}', '[\\s\\S]')
        : plainPatterns(inner),
    ]),
  ) as T
}
