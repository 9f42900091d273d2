import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Values for the parameters of paths. */
interface Values {
  batch: string
  job: number
  agent: string
  slug: string
  share: string
}

/** Routes about the process or its clock rather than stored data, and streams that never end. */
const NOT_STORED = new Set(['/livez', '/readyz', '/metrics', '/api/sse'])

/** The path of every GET in the API's document, with something that exists in place of its parameters. */
export function fillPaths(values: Values): string[] {
  const document = JSON.parse(readFileSync(join(import.meta.dirname, '../../schemas/openapi.json'), 'utf8'))
  const paths = Object.entries(document.paths as Record<string, { get?: unknown }>)
  return paths
    .filter(([path, methods]) => methods.get !== undefined && !NOT_STORED.has(path))
    .map(([path]) =>
      path
        .replace(/^(\/api\/batches\/)\{id\}/, `$1${encodeURIComponent(values.batch)}`)
        .replace(/^(\/api\/(?:agents|hosts)\/)\{id\}/, `$1${values.agent}`)
        .replace('{key}', String(values.job))
        .replace('{slug}', values.slug)
        .replace('{token}', encodeURIComponent(values.share)),
    )
}
