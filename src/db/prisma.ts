import { PrismaPg } from '@prisma/adapter-pg'
import { Pool } from 'pg'
import { failSpan, startStatement, tracesStatements } from '../tracing.ts'
import { Prisma, PrismaClient } from './generated/client.ts'
import { PrimaryClient } from './hosts.ts'
import { PAGED_READS, SESSION } from './sql.ts'

export { Prisma, type PrismaClient }

/** Plans that Prisma keeps, by the shape of a read: relations, fields and conditions. */
const MAX_PLANS = 300

export interface Graph {
  /** Reads entities and their relations, with one SQL statement per selection. Writes are refused. */
  prisma: PrismaClient
  close: () => Promise<void>
}

/**
 * Opens the read-only client through which GraphQL reads entities.
 * @param options.readTimeoutS the statement timeout; without it there is none
 * @param options.onStatement called with the text of every statement, for tests that count them
 */
export function openGraph(
  url: string,
  options: { max: number; readTimeoutS?: number; onStatement?: (sql: string) => void },
): Graph {
  const settings = {
    ...SESSION,
    ...PAGED_READS,
    default_transaction_read_only: 'on',
    statement_timeout: String((options.readTimeoutS ?? 0) * 1000),
  }
  const pool = new Pool({
    Client: PrimaryClient as never,
    connectionString: url,
    max: options.max,
    ...({ name: 'graph', settings } as object),
  })
  // Without these listeners an error event would end the process. A query on a broken connection gets the error itself.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const { onStatement } = options
  let opened: PrismaClient | undefined
  function open(): PrismaClient {
    const prisma = new PrismaClient({
      adapter: new PrismaPg(pool),
      log: [{ emit: 'event', level: 'query' }],
      queryPlanCacheMaxSize: MAX_PLANS,
    })
    if (onStatement !== undefined) prisma.$on('query', (event) => onStatement(event.query))
    return (tracesStatements() ? traced(prisma) : prisma) as PrismaClient
  }
  // Made when it is first used: its tables take 13 MB, and a server that only receives events needs none of them.
  const client = (): PrismaClient => {
    opened ??= open()
    return opened
  }
  const prisma = new Proxy({} as PrismaClient, {
    get: (_, name) => Reflect.get(client(), name),
    // Pothos asks whether it has a model.
    has: (_, name) => Reflect.has(client(), name),
  })
  const close = async (): Promise<void> => {
    await opened?.$disconnect()
    await pool.end()
  }
  return { prisma, close }
}

/** Prisma generates its statements, so their spans are named after model and operation. */
const traced = (prisma: Pick<PrismaClient, '$extends'>) =>
  prisma.$extends({
    query: {
      async $allOperations({ model, operation, args, query }) {
        const span = startStatement(['prisma', model, operation].filter(Boolean).join('.'))
        try {
          return await query(args)
        } catch (error) {
          if (span !== undefined) failSpan(span, error)
          throw error
        } finally {
          span?.end()
        }
      },
    },
  })
