import type { readConfig } from '../config.ts'

/** What the commands get from the process that runs them. */
export interface CommandContext {
  /** Reads and checks the settings. Throws a ConfigError. */
  settings: () => ReturnType<typeof readConfig>
  environment: Record<string, string | undefined>
  input: NodeJS.ReadableStream
}
