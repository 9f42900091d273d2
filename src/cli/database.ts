import type { Config } from '../config.ts'
import { startEmbedded } from '../db/embedded.ts'

/**
 * Runs `work` over the database of the settings: the external one, or the embedded one, which is started for it, or
 * shared with the server that runs it.
 */
export async function onDatabase<T>(
  config: Pick<Config, 'databaseUrl' | 'dataDir'>,
  work: (url: string) => Promise<T>,
): Promise<T> {
  if (config.databaseUrl !== undefined) return work(config.databaseUrl)
  const embedded = await startEmbedded({
    home: config.dataDir,
    log: (message) => console.error(`svc: ${message}`),
  })
  try {
    return await work(embedded.url('postgres'))
  } finally {
    await embedded.stop()
  }
}
