import { defineConfig } from 'prisma/config'

/**
 * Only `prisma generate` is used: the server applies the migrations itself. The CLI would fetch its schema engine from
 * the network before any command, also before those that never run it; naming any executable keeps it offline.
 */
process.env.PRISMA_SCHEMA_ENGINE_BINARY ??= process.execPath

export default defineConfig({
  schema: 'prisma/schema.prisma',
  migrations: { path: 'prisma/migrations' },
})
