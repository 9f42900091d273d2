import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { CONFIG_KEYS, readConfig } from '../../src/config.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8')
const { version } = JSON.parse(read('package.json')) as { version: string }

const isSetting = (name: string): boolean =>
  name in CONFIG_KEYS || ['SVC_VERSION', 'SVC_PUBLISHED_PORT', 'SVC_DB_PASSWORD'].includes(name)

test('every setting in a deployment file is a setting of the service with a valid value', () => {
  const files = ['Dockerfile', 'compose.yaml', ...filesIn('deploy')]
  for (const file of files)
    for (const [name] of read(file).matchAll(/\bSVC_[A-Z0-9_]+\b(?!…)/g))
      if (!name.endsWith('_')) expect(isSetting(name), `${name} in ${file}`).toBe(true)
  const compose = parse(read('compose.yaml'))
  const monitoring = parse(read('deploy/compose/monitoring.yaml'))
  const chart = parse(read('deploy/helm/svc/values.yaml'))
  for (const settings of [
    { ...compose.services.svc.environment, ...monitoring.services.svc.environment },
    { ...chart.settings, SVC_PUBLIC_URL: chart.publicUrl },
  ])
    expect(readConfig(withDefaults(settings)).warnings).toEqual([])
})

test('versions are those of package.json', () => {
  const chart = parse(read('deploy/helm/svc/Chart.yaml'))
  expect([chart.version, chart.appVersion]).toEqual([version, version])
  expect(parse(read('compose.yaml')).services.svc.image).toBe(`svc:\${SVC_VERSION:-${version}}`)
})

test('the values of the Helm chart fit its schema, which refuses unknown settings', () => {
  const check = new Ajv().compile(JSON.parse(read('deploy/helm/svc/values.schema.json')))
  const values = parse(read('deploy/helm/svc/values.yaml'))
  expect(check(values), JSON.stringify(check.errors)).toBe(true)
  expect(check({ ...values, settings: { PORT: '1' } })).toBe(false)
  expect(check({ ...values, publicUrl: 'monitor.example.org' })).toBe(false)
})

test('every value used in a template of the Helm chart has a default', () => {
  const values = parse(read('deploy/helm/svc/values.yaml'))
  const templates = filesIn('deploy/helm/svc/templates')
  expect(templates.length).toBeGreaterThanOrEqual(7)
  for (const file of templates) {
    const text = read(file)
    for (const [, path] of text.matchAll(/\.Values\.([\w.]+)/g)) {
      let at = values
      for (const key of (path as string).split('.')) {
        expect(Object.keys(at), `${path} in ${file}`).toContain(key)
        at = at[key]
      }
    }
    const opened = text.match(/{{-? *(if|with|range|define)\b/g)?.length ?? 0
    expect(text.match(/{{-? *end *-?}}/g)?.length ?? 0, file).toBe(opened)
  }
})

test('the container runs as an unprivileged user, on a read-only root, with one volume', () => {
  const dockerfile = read('Dockerfile')
  expect(dockerfile).toMatch(/^USER 10001:10001$/m)
  expect(dockerfile).toMatch(/^VOLUME \/data$/m)
  expect(dockerfile).toMatch(/^ENTRYPOINT \["tini", /m)
  const { svc } = parse(read('compose.yaml')).services
  expect(svc).toMatchObject({ read_only: true, cap_drop: ['ALL'], volumes: ['data:/data'], tmpfs: ['/tmp'] })
  const chart = read('deploy/helm/svc/templates/deployment.yaml')
  for (const line of ['runAsNonRoot: true', 'runAsUser: 10001', 'readOnlyRootFilesystem: true'])
    expect(chart).toContain(line)
})

/** As compose reads `${NAME:-default}` where no variable is set. */
const withDefaults = (settings: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, value.replace(/\$\{\w+:-([^}]*)\}/g, '$1')]),
  )

function filesIn(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .map((path) => join(folder, path))
    .filter((path) => statSync(join(ROOT, path)).isFile())
}
