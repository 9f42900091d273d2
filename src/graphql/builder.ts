import SchemaBuilder, { RootFieldBuilder } from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import DataloaderPlugin from '@pothos/plugin-dataloader'
import PrismaPlugin from '@pothos/plugin-prisma'
import RelayPlugin from '@pothos/plugin-relay'
import ScopeAuthPlugin from '@pothos/plugin-scope-auth'
import ValidationPlugin from '@pothos/plugin-validation'
import type PrismaTypes from '../db/generated/pothos.ts'
import { getDatamodel } from '../db/generated/pothos.ts'
import { mayRead } from '../domain/access.ts'
import { isAdmin, isPerson } from '../domain/caller.ts'
import { Problem } from '../problem.ts'
import type { Context } from './context.ts'
import { together } from './list-turns.ts'
import { refusal } from './mask.ts'

const decoded = (id: string): string => Buffer.from(id, 'base64').toString('utf8')
/** The id of no batch. */
const NOTHING = ['', 'Batch', '-']

/** The schema builder. The files of the types add to it; schema.ts loads them all. */
export const builder = new SchemaBuilder<{
  Context: Context
  PrismaTypes: PrismaTypes
  DefaultFieldNullability: false
  Scalars: {
    ID: { Input: string; Output: string | number }
    DateTime: { Input: string; Output: string }
    Number: { Input: number; Output: number | string }
    Step: { Input: number; Output: number }
    JSON: { Input: never; Output: unknown }
  }
  AuthScopes: {
    /** Signed in with any credential that may read. */
    known: boolean
    /** A member of the project with this key, who may see the addresses of its members. */
    inProject: number
    /** A signed-in administrator. */
    administrator: boolean
  }
}>({
  plugins: [ScopeAuthPlugin, PrismaPlugin, RelayPlugin, DataloaderPlugin, ValidationPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  prisma: {
    client: (context) => context.prisma,
    dmmf: getDatamodel(),
  },
  relay: {
    // `id` is the batch_id, unencoded.
    idFieldName: 'nodeId',
    // The plugin refuses the whole query for text that is not an id; nothing has it.
    decodeGlobalID: (text) => {
      const [, typename = '', id = ''] = /^(Project|Batch|Job):(.*)$/s.exec(decoded(text)) ?? NOTHING
      return { typename, id }
    },
    nodeQueryOptions: { nullable: true },
    nodesQueryOptions: { nullable: { list: false, items: true } },
  },
  scopeAuth: {
    authScopes: ({ caller, memberships: standings }) => ({
      known: caller.kind === 'known' && mayRead(caller),
      administrator: isPerson(caller) && isAdmin(caller),
      inProject: async (key) => (await standings.load(key)).may('know_members'),
    }),
  },
  validation: {
    validationError: ({ issues }) =>
      refusal(
        new Problem('invalid_query', {
          detail: issues.map((issue) => issue.message).join('; '),
          errors: issues.map(({ path = [], message }) => ({
            path: path.map((p) => String(typeof p === 'object' ? p.key : p)).join('.'),
            message,
          })),
        }),
      ),
  },
  // A value costs nothing by itself; fields that read the database declare their costs (costs.ts).
  complexity: { defaultComplexity: 0, defaultListMultiplier: 1, disabled: true },
})

/** So no field can be declared that loads for each turn of a list. A group gets all values and looks for its own. */
const fields = RootFieldBuilder.prototype as unknown as Record<string, (options: { load: never }) => unknown>
for (const kind of ['loadable', 'loadableList', 'loadableGroup']) {
  const declare = fields[kind]
  if (declare === undefined) throw new Error(`the plugin of DataLoader has no ${kind}`)
  fields[kind] = function declared(options) {
    const load = together(options.load, kind !== 'loadableGroup') as never
    return declare.call(this, { ...options, load })
  }
}

builder.queryType({ description: 'All queries. Anything that you may not see is null or absent.' })
