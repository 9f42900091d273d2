import { basename, dirname, join } from 'node:path'

const folder = dirname(import.meta.dirname)

/** Where `npm run build` puts what is served as files: beside the compiled service, or in dist/ when the sources run. */
export const BUILT = basename(folder) === 'src' ? join(dirname(folder), 'dist') : folder
