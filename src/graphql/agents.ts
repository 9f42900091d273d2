import { z } from 'zod'
import {
  type CommandView,
  commandFields,
  commandsOf,
  countHosts,
  type HostView,
  hostFields,
  hostView,
  listHosts,
  readHost,
} from '../domain/agents/index.ts'
import { cursorOf } from '../domain/cursors.ts'
import { instantText } from '../domain/instant-text.ts'
import { Problem } from '../problem.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { connectionCost, LOOKUP } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { connectionType, pageArgs, pageOf } from './paging.ts'
import { PersonType } from './person.ts'

/** Agents on hosts, and commands to them (contract §5); the same as in REST. */

const RunningType = builder.objectRef<HostView['running'][number]>('RunningProcess')
builder.objectType(RunningType, {
  fields: (t) => ({
    cmdId: t.id({ resolve: ({ cmd_id }) => cmd_id }),
    pid: t.float({ resolve: ({ pid }) => pid }),
  }),
})

const HostType = builder.objectRef<HostView>('Host')
builder.objectType(HostType, {
  description: 'A host that batches ran on or that has an agent. You see your own; administrators see all.',
  fields: (t) => ({
    ...declared(t, hostFields, { owner: PersonType, running: [RunningType] }, (host) => host),
  }),
})
const HostConnection = connectionType<typeof HostType, HostView>('Host', HostType)

const hostCursors = cursorOf('hosts', z.object({ createdAt: instantText, id: z.uuid() }))

builder.queryField('hosts', (t) =>
  t.field({
    type: HostConnection,
    complexity: connectionCost,
    description: 'Your hosts, newest first; all hosts for an administrator; none if you are not signed in',
    args: pageArgs('hosts'),
    resolve: async (_root, args, { caller, prisma, clock }) => {
      const { first } = args
      const after = hostCursors.read(args.after, 'after')
      const known = caller.kind === 'known'
      const rows = known && first > 0 ? await listHosts(prisma, caller, { limit: first + 1, after }) : []
      return pageOf(rows, {
        first,
        after,
        nodeOf: (row) => hostView(row, clock.now),
        cursorOf: (row) => hostCursors.write({ createdAt: row.registered_at, id: row.id }),
        total: () => (known ? countHosts(prisma, caller) : 0),
      })
    },
  }),
)

builder.queryField('host', (t) =>
  t.field({
    type: HostType,
    nullable: true,
    complexity: LOOKUP,
    description: 'Null if there is no such agent or it is not yours',
    args: { id: t.arg.id({ required: true }) },
    resolve: async (_root, { id }, { caller, prisma, clock }) => {
      if (caller.kind !== 'known') return null
      const row = await readHost(prisma, caller, String(id)).catch((error) => {
        if (error instanceof Problem && error.code === 'agent_not_found') return null
        throw error
      })
      return row && hostView(row, clock.now)
    },
  }),
)

const KindType = builder.enumType('AgentCommandKind', {
  values: { RERUN: { value: 'rerun' }, STOP: { value: 'stop' } } as const,
})
const StateType = builder.enumType('AgentCommandState', {
  values: {
    PENDING: { value: 'pending' },
    IN_FLIGHT: { value: 'in_flight' },
    DONE: { value: 'done' },
    FAILED: { value: 'failed' },
    EXPIRED: { value: 'expired', description: 'No agent took it for a day' },
    CANCELLED: { value: 'cancelled' },
  } as const,
})

const CommandType = builder.objectRef<CommandView>('AgentCommand')
builder.objectType(CommandType, {
  description: 'A rerun or stop command for an agent.',
  fields: (t) => ({
    ...declared(
      t,
      commandFields,
      { kind: KindType, state: StateType, requested_by: PersonType },
      (command) => command,
    ),
  }),
})
const CommandConnection = connectionType<typeof CommandType, CommandView>('AgentCommand', CommandType)

const commandCursors = cursorOf('commands', z.uuid())

builder.objectField(BatchType, 'agentCommands', (t) =>
  t.loadable({
    type: CommandConnection,
    byPath: true,
    nullable: true,
    complexity: connectionCost,
    description: 'Commands about the batch, and the rerun that reports it, newest first; null for visitors',
    args: pageArgs('commands'),
    authScopes: async ({ row, share }, _args, { memberships: standings }) =>
      share === null && (await standings.load(row.project_key)).may('know_commands'),
    unauthorizedResolver: () => null,
    load: async (batches: BatchNode[], { caller, prisma, clock }, { first, ...args }) => {
      const keys = batches.map(({ row }) => row.key)
      const reader = { userId: caller.kind === 'known' ? caller.user.id : null }
      const found = await commandsOf(prisma, keys, reader, clock.now)
      const after = commandCursors.read(args.after, 'after')
      return keys.map((key) => {
        // A batch has few of them, so a request for some of them reads all.
        const all = found.get(key) ?? []
        const from = after === undefined ? 0 : all.findIndex(({ cmd_id }) => cmd_id === after) + 1
        if (after !== undefined && from === 0) throw new Problem('invalid_cursor')
        const rows = all.slice(from)
        return pageOf(rows, {
          first,
          after,
          nodeOf: (row) => row,
          cursorOf: ({ cmd_id }) => commandCursors.write(cmd_id),
          total: () => all.length,
        })
      })
    },
    resolve: (batch) => batch,
  }),
)
