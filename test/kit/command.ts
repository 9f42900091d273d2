import { join } from 'node:path'
import { built } from './effort.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What Node is given to run the command line in a process of its own: the build under `npm test`, else the sources. */
export const COMMAND: readonly string[] = built
  ? [join(ROOT, 'dist/cli/main.js')]
  : ['--import', 'tsx', join(ROOT, 'src/cli/main.ts')]
