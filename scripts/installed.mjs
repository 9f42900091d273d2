import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where programs of the administrator are, which not every user has in PATH. */
const ALSO = ['/usr/sbin', '/usr/local/sbin']

/** @returns whether this machine has the program of that name */
export const isInstalled = (program) =>
  [...(process.env.PATH ?? '').split(delimiter), ...ALSO].some((folder) => existsSync(join(folder, program)))
