import { Command, Option } from 'commander'
import { openGraph, type PrismaClient } from '../db/prisma.ts'
import type { Sql } from '../db/sql.ts'
import type { CreationPosition } from '../domain/cursors.ts'
import { createToken, listTokens, revokeToken, TOKEN_SCOPES } from '../domain/tokens/index.ts'
import { createWriter, write } from '../stream/commit.ts'
import type { CommandContext } from './command-context.ts'
import { onDatabase, onTables } from './database.ts'
import { printTable } from './table.ts'
import { accountOf, OPERATOR } from './user.ts'

type Scope = (typeof TOKEN_SCOPES)[number]

/** `svc token …`: manages tokens of an account in a shell, for scripts that set up a service. */
export function tokenCommand({ settings }: CommandContext): Command {
  const token = new Command('token').description('manage tokens of programs without signing in')
  const run = (work: (sql: Sql) => Promise<void>): Promise<void> =>
    onDatabase(settings().config, (url) => onTables(url, work))
  token
    .command('create')
    .description('make a token and print it on standard output; it is not shown again')
    .argument('<email>', 'account for which the token acts')
    .option('--name <name>', 'what the token is called in lists', 'svc token create')
    .addOption(
      new Option('--scope <scope>', 'reporter: sends events; read: reads what the account may read')
        .choices(TOKEN_SCOPES)
        .default('reporter'),
    )
    .action((email: string, { name, scope }: { name: string; scope: Scope }) =>
      run(async (sql) => {
        const { id } = await accountOf(sql, email)
        const most = settings().config.quotas.tokens
        const made = await write(createWriter(sql), (tx) =>
          createToken(tx, OPERATOR, id, { name, scope }, most, new Date()),
        )
        console.error(`svc: made the token ${made.token.id} with the scope ${scope}`)
        console.log(made.text)
      }),
    )
  token
    .command('list')
    .description('list the tokens of an account, without their secrets')
    .argument('<email>', 'address of the account')
    .action((email: string) =>
      onDatabase(settings().config, (url) =>
        onTables(url, async (sql) => {
          const { id } = await accountOf(sql, email)
          const graph = openGraph(url, { max: 1 })
          try {
            await list(graph.prisma, id)
          } finally {
            await graph.close()
          }
        }),
      ),
    )
  token
    .command('revoke')
    .description('revoke a token: its next request is refused')
    .argument('<email>', 'address of the account')
    .argument('<id>', 'id of the token, as svc token list shows it')
    .action((email: string, tokenId: string) =>
      run(async (sql) => {
        const { id } = await accountOf(sql, email)
        await write(createWriter(sql), (tx) => revokeToken(tx, OPERATOR, id, tokenId, new Date()))
        console.error(`svc: the token ${tokenId} is revoked`)
      }),
    )
  return token
}

async function list(prisma: PrismaClient, userId: string): Promise<void> {
  const rows = [['ID', 'NAME', 'SCOPE', 'ENDS IN', 'MADE', 'LAST USED']]
  let after: CreationPosition | undefined
  do {
    const page = await listTokens(prisma, userId, { limit: 500, after })
    for (const { id, name, scope, last4, created_at: createdAt, last_used_at: lastUsedAt } of page)
      rows.push([id, name, scope, last4, createdAt.slice(0, 10), lastUsedAt?.slice(0, 10) ?? 'never'])
    const last = page.at(-1)
    after = last && { createdAt: last.created_at, id: last.id }
  } while (after !== undefined)
  printTable(rows)
}
