import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import {
  type AgentCaller,
  acknowledge,
  claimCommand,
  deliver,
  finish,
  noteAlive,
  noteEndedProcesses,
  noteSteps,
  POLL_INTERVAL_S,
  REPORTED_STEPS,
  registerAgent,
} from '../../domain/agents/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { commit } from '../../stream/commit.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import * as shapes from '../request/shapes.ts'
import {
  agentAndCommand,
  agoS,
  commandShape,
  endedProcesses,
  hostname,
  json,
  pid,
  reason,
  state,
  storable,
} from './agent-shapes.ts'

/**
 * The agent that sent the request. The path must have its id; with another id the agent is not found (specification §5
 * rule 3).
 * @throws Problem unauthenticated, forbidden for other credentials, agent_not_found
 */
async function agentOf(request: FastifyRequest): Promise<AgentCaller> {
  const caller = await request.known()
  if (caller.via !== 'agent' || caller.agent === undefined) {
    throw new Problem('forbidden', { detail: 'Only a registered agent may do that, with its own token' })
  }
  if ((request.params as { id: string }).id !== caller.agent.id) throw new Problem('agent_not_found')
  return { ...caller.agent, userId: caller.user.id }
}
/** Refuses before the body is read. */
const agentOnly = { onRequest: async (request: FastifyRequest) => void (await agentOf(request)) }
const tags = ['agents']
const ofAgent = { tags, params: shapes.byId, querystring: shapes.nothing }
const ofCommand = { tags, params: agentAndCommand, querystring: shapes.nothing }

/** The routes that agents call (contract §5; specification §4.3). */
export function agentRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    registerRoute,
    pendingCommandsRoute,
    claimRoute,
    acknowledgeRoute,
    stepsRoute,
    resultRoute,
    heartbeatRoute,
  ])
}

function registerRoute(routes: Routes, { config, writer, now }: Services): void {
  routes.post(
    '/api/agents/register',
    {
      onRequest: async (request) => {
        const caller = await request.known()
        if (['cookie', 'session', 'reporter'].includes(caller.via)) return
        throw new Problem('forbidden', {
          detail: 'Register an agent with a session or with a reporter token',
        })
      },
      schema: {
        tags,
        summary:
          'Register the agent of a host; registering it again creates a new token and revokes the old one',
        querystring: shapes.nothing,
        body: z.object({ hostname, capabilities: json.default({}), version: storable.max(64).default('') }),
        response: {
          200: z.object({ agent_id: z.string(), agent_token: z.string(), poll_interval_s: z.number() }),
        },
      },
    },
    async (request) => {
      const caller = await request.known()
      const { agentId, token } = await commit(writer, (tx) =>
        registerAgent(tx, caller, request.body, config.quotas.agents, now()),
      )
      return { agent_id: agentId, agent_token: token, poll_interval_s: POLL_INTERVAL_S }
    },
  )
}

function pendingCommandsRoute(routes: Routes, { writer, now }: Services): void {
  routes.get(
    '/api/agents/:id/jobs',
    {
      ...agentOnly,
      schema: {
        ...ofAgent,
        summary: 'The pending commands of this agent, oldest first; the request counts as a heartbeat',
        response: {
          200: z.object({
            jobs: z.array(commandShape),
          }),
        },
      },
    },
    async (request) => {
      const agent = await agentOf(request)
      const jobs = await commit(writer, async (tx) => {
        const alive = await noteAlive(tx, agent, undefined, now())
        const { result, changes } = await deliver(tx, agent, now())
        return { result, changes: [...alive, ...changes] }
      })
      return {
        jobs,
      }
    },
  )
}

function claimRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/agents/:id/jobs/:cmd_id/claim',
    {
      ...agentOnly,
      schema: {
        ...ofCommand,
        summary: 'Claim a rerun right before starting its process; returns a token for the process',
        body: shapes.noInput,
        response: { 200: z.object({ token: z.string() }) },
      },
    },
    async (request) => {
      const agent = await agentOf(request)
      return commit(writer, (tx) => claimCommand(tx, agent, request.params.cmd_id, now()))
    },
  )
}

function acknowledgeRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/agents/:id/jobs/:cmd_id/ack',
    {
      ...agentOnly,
      schema: {
        ...ofCommand,
        summary: 'Report that the process was started, or why it was not; idempotent',
        body: z.union([z.object({ failure_reason: reason }), z.object({ pid, ago_s: agoS })]),
        response: { 200: state },
      },
    },
    async (request) => {
      const agent = await agentOf(request)
      const { body } = request
      const said =
        'failure_reason' in body
          ? { failureReason: body.failure_reason }
          : { pid: body.pid, agoS: body.ago_s }
      return {
        state: await commit(writer, (tx) => acknowledge(tx, agent, request.params.cmd_id, said, now())),
      }
    },
  )
}

function stepsRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/agents/:id/jobs/:cmd_id/steps',
    {
      ...agentOnly,
      schema: {
        ...ofCommand,
        summary: 'Report steps as they happen',
        body: z.object({
          steps: z
            .array(z.object({ step: z.enum(REPORTED_STEPS), ago_s: agoS }))
            .min(1)
            .max(20),
        }),
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const agent = await agentOf(request)
      const steps = request.body.steps.map(({ step, ago_s }) => ({ step, agoS: ago_s }))
      await commit(writer, (tx) => noteSteps(tx, agent, request.params.cmd_id, steps, now()))
      return reply.code(204).send(null)
    },
  )
}

function resultRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/agents/:id/jobs/:cmd_id/result',
    {
      ...agentOnly,
      schema: {
        ...ofCommand,
        summary: 'Report how the process ended; idempotent',
        body: z.object({
          exit_code: z
            .int()
            .min(-2_147_483_648)
            .max(2_147_483_647)
            .nullish()
            .describe('Null if it is unknown'),
          failure_reason: reason.nullish(),
          output_tail: z.string().max(65_536).nullish().describe("The last part of the process's output"),
          ago_s: agoS,
        }),
        response: { 200: state },
      },
    },
    async (request) => {
      const agent = await agentOf(request)
      const { exit_code: exitCode = null, output_tail: tail, ago_s } = request.body
      const failureReason = request.body.failure_reason ?? undefined
      if (exitCode === null && failureReason === undefined) {
        throw new Problem('invalid_body', {
          errors: [{ path: 'failure_reason', message: 'must be given when there is no exit_code' }],
        })
      }
      // A process may write any bytes; characters that PostgreSQL cannot store become replacement
      // characters.
      const outputTail = tail?.toWellFormed().replaceAll('\u0000', '\ufffd')
      const ending = { exitCode, failureReason, outputTail, agoS: ago_s }
      return { state: await commit(writer, (tx) => finish(tx, agent, request.params.cmd_id, ending, now())) }
    },
  )
}

function heartbeatRoute(routes: Routes, { writer, now }: Services): void {
  routes.post(
    '/api/agents/:id/heartbeat',
    {
      ...agentOnly,
      schema: {
        ...ofAgent,
        summary: 'A heartbeat, with the running processes',
        body: z
          .object({
            running: z
              .array(z.object({ cmd_id: storable.min(1).max(64), pid }))
              .max(1_000)
              .optional(),
            ended: endedProcesses.optional(),
          })
          .nullish(),
        response: { 204: shapes.noContent },
      },
    },
    async (request, reply) => {
      const agent = await agentOf(request)
      const { running, ended = [] } = request.body ?? {}
      await commit(writer, async (tx) => ({
        result: undefined,
        changes: [
          ...(await noteAlive(tx, agent, running, now())),
          ...(await noteEndedProcesses(tx, agent, ended, now())),
        ],
      }))
      return reply.code(204).send(null)
    },
  )
}
