import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../domain/caller.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { originOf } from '../request/same-site.ts'
import type { GraphqlEndpoint } from '../streams/graphql.ts'
import { ToolError, toolErrorText } from './answer.ts'
import { compareRuns } from './compare-tool.ts'
import { getFailures, getLogs, getMetrics, sweepSummary } from './detail-tools.ts'
import { bestRun, findRuns, getRun, listProjects } from './run-tools.ts'
import type { Tool, ToolContext } from './tool.ts'

const TOOLS: readonly Tool[] = [
  listProjects,
  findRuns,
  getRun,
  bestRun,
  getMetrics,
  compareRuns,
  getFailures,
  getLogs,
  sweepSummary,
]

/** Newest first. All of them are the same for a server without sessions that has tools alone. */
const VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'] as const
/** As in OpenAPI. */
const INTERFACE_VERSION = '1'
const MAX_BYTES = 64 * 1024
const INSTRUCTIONS = `Read-only access to an experiment monitor. A run (also called a batch) belongs to a project and has jobs;
each job has series of metrics by step. Start with list_projects, then find_runs. Answers are short: each says what it left
out, and next_cursor continues it. Values are exact as stored, rounded to six digits.`

/** Codes of JSON-RPC 2.0. */
const PARSE_ERROR = -32_700
const INVALID_REQUEST = -32_600
const METHOD_NOT_FOUND = -32_601
const INVALID_PARAMS = -32_602

const message = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number()]).optional(),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).optional(),
})
type Message = z.output<typeof message>

class RpcError extends Error {
  readonly code: number
  constructor(code: number, text: string) {
    super(text)
    this.code = code
  }
}

/**
 * /mcp: the Model Context Protocol over Streamable HTTP (contract §11 "MCP"), without sessions and streams: every POST is
 * answered with JSON. Nothing writes; tools read through GraphQL, with the rights and the budget of their read token.
 */
export function mcpRoutes(app: FastifyInstance, graphql: GraphqlEndpoint, services: Services): void {
  app.route({
    method: 'POST',
    url: '/mcp',
    bodyLimit: MAX_BYTES,
    config: { rawJson: true },
    schema: { hide: true },
    onRequest: async (request) => {
      // The protocol asks for it: a page of another site must not reach a server on this machine.
      if (originOf(request, services.config) === 'foreign')
        throw new Problem('forbidden', { detail: 'Pages of other origins cannot use /mcp' })
      await readerOf(request)
    },
    handler: async (request, reply) => {
      const caller = await readerOf(request)
      const parsed = parse(request.body)
      if ('error' in parsed)
        return reply
          .code(400)
          .send({ jsonrpc: '2.0', id: null, error: { code: parsed.error, message: parsed.text } })
      const { id } = parsed
      // A notification, or an answer to a request that this server never sends.
      if (id === undefined) return reply.code(202).send()
      try {
        const result = await resultOf(parsed, contextOf(request, caller, graphql, services))
        return await reply.send({ jsonrpc: '2.0', id, result })
      } catch (error) {
        if (!(error instanceof RpcError)) throw error
        return reply.send({ jsonrpc: '2.0', id, error: { code: error.code, message: error.message } })
      }
    },
  })
}

async function readerOf(request: FastifyRequest): Promise<Caller> {
  const caller = await request.caller()
  if (caller.kind === 'anonymous' || request.headers.authorization === undefined)
    throw new Problem('unauthenticated', { detail: 'Send a read token: Authorization: Bearer em_read_…' })
  if (caller.via !== 'read')
    throw new Problem('forbidden', { detail: 'Use a token of scope read; create one on the Tokens page' })
  return caller
}

function parse(body: unknown): Message | { error: number; text: string; id?: undefined } {
  let json: unknown
  try {
    json = JSON.parse(String(body))
  } catch {
    return { error: PARSE_ERROR, text: 'The body is not JSON' }
  }
  // An answer to a request has no method; nothing follows from it.
  if (
    typeof json === 'object' &&
    json !== null &&
    ('result' in json || 'error' in json) &&
    !('method' in json)
  )
    return { jsonrpc: '2.0', method: 'response' }
  const checked = message.safeParse(json)
  return checked.success
    ? checked.data
    : { error: INVALID_REQUEST, text: 'The body must be one JSON-RPC 2.0 request' }
}

async function resultOf({ method, params = {} }: Message, context: ToolContext) {
  switch (method) {
    case 'initialize': {
      const wanted = VERSIONS.find((one) => one === params.protocolVersion)
      return {
        protocolVersion: wanted ?? VERSIONS[0],
        capabilities: { tools: {} },
        serverInfo: { name: 'svc', title: 'Experiment monitor', version: INTERFACE_VERSION },
        instructions: INSTRUCTIONS,
      }
    }
    case 'ping':
      return {}
    case 'tools/list':
      return { tools: TOOLS.map(describe) }
    case 'tools/call':
      return callTool(params, context)
    default:
      throw new RpcError(METHOD_NOT_FOUND, `This server has no method ${method}`)
  }
}

const describe = ({ name, description, input }: Tool) => {
  const { $schema: _schema, ...inputSchema } = z.toJSONSchema(input, { io: 'input' })
  return { name, description, inputSchema, annotations: { readOnlyHint: true, openWorldHint: false } }
}

async function callTool(params: Record<string, unknown>, context: ToolContext) {
  const called = TOOLS.find(({ name }) => name === params.name)
  if (called === undefined) throw new RpcError(INVALID_PARAMS, `There is no tool ${String(params.name)}`)
  const input = called.input.safeParse(params.arguments ?? {})
  if (!input.success) return failed(input.error.issues.map((issue) => faultText(issue, called)).join('; '))
  try {
    const answer = await called.run(input.data as never, context)
    return { content: [{ type: 'text', text: JSON.stringify(answer) }] }
  } catch (error) {
    return failed(toolErrorText(error))
  }
}

function faultText({ code, path, message }: z.core.$ZodIssue, { input }: Tool): string {
  if (path.length > 0) return `${path.join('.')}: ${message}`
  return code === 'unrecognized_keys'
    ? `${message}. It takes ${Object.keys(input.shape).join(', ')}`
    : message
}

const failed = (text: string) => ({ content: [{ type: 'text', text }], isError: true })

function contextOf(
  request: FastifyRequest,
  caller: Caller,
  graphql: GraphqlEndpoint,
  services: Services,
): ToolContext {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  return {
    caller,
    services,
    async query<Data>(document: string, variables: Record<string, unknown>): Promise<Data> {
      const { body } = await graphql.answer(
        { method: 'POST', url: '/graphql', headers, body: { query: document, variables } },
        caller,
        () => request.raw.destroyed,
      )
      const { data, errors } = JSON.parse(body) as { data?: Data; errors?: { message: string }[] }
      if (data == null || errors !== undefined)
        throw new ToolError(errors?.[0]?.message ?? 'The query returned no data')
      return data
    },
  }
}
