/**
 * Statements and time of GraphQL documents, those of the page among them, and of pages of 50 and 500 rows.
 * `npx tsx bench/graphql-documents.ts [folder of another checkout]` prints them; with another checkout both are asked in
 * turn, and the table has the ratios. A document of the page is that of the checkout, as fields were added since.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type DocumentNode, parse, print, separateOperations } from 'graphql'
import type { Asked, Measured } from './kit/graphql-side.ts'
import { type Figure, median, printFigures } from './kit/report.ts'

const ROUNDS = 40
const WARM_UP = 8
const HERE = join(import.meta.dirname, '..')

const DOCUMENTS: Record<string, { query: string; variables?: Record<string, unknown> }> = {
  'batches(50), every column': {
    query: `{ batches(first: 50) { edges { node { id name projectSlug status host user commit command experimentType tags notes group
      config summary starred nTotal nDone slots { started } startedAt endedAt lastSeenAt elapsedS progress etaS owner { name }
      environment can { stop } } } } }`,
  },
  'batches(500), a few columns': {
    query: '{ batches(first: 500) { edges { node { id status startedAt nDone } } } }',
  },
  'batches(50) by a metric': {
    query:
      '{ batches(first: 50, orderBy: { by: FIELD, field: "best.loss" }) { edges { node { id status columns(names: ["best.loss"]) } } } }',
  },
  'jobs(50)': {
    query: '{ jobs(first: 50) { edges { node { jobId status params latest startedAt elapsedS } } } }',
  },
  'jobs(500)': {
    query: '{ jobs(first: 500) { edges { node { jobId status params latest startedAt elapsedS } } } }',
  },
  'jobs(500), resources': { query: '{ jobs(first: 500) { edges { node { resources { key } } } } }' },
  'batches(200), health': { query: '{ batches(first: 200) { edges { node { health { stalled } } } } }' },
  'jobs(100), log lines': {
    query: '{ jobs(first: 100) { edges { node { logLines(first: 5) { edges { node { line } } } } } } }',
  },
  'project > batches(50) > jobs(20)': {
    query: `{ project(slug: "p") { batches(first: 50) { edges { node { id jobs(first: 20) { edges { node { jobId latest params } } } } } } } }`,
  },
  'batch with 50 jobs': {
    query: `{ batch(id: "b1") { id status owner { name } project { slug } health { status } eta { etaS } delivery { state }
      timeline { step } jobs(first: 50) { totalCount edges { node { jobId status params latest best metrics(keys: ["loss"]) { steps values } } } } } }`,
  },
  projects: { query: '{ projects(first: 50) { edges { node { slug role owner { name } } } } }' },
  'batches(20), groups and clips': {
    query: `{ batches(first: 20) { edges { node { metricGroups(groupBy: "status", keys: ["loss"]) { n }
      metricClips(keys: ["loss"], share: 0.1) { low } } } } }`,
  },
}
/** A page of each entity, by its length. An entity that an older checkout does not have is left out of the comparison. */
const ENTITIES: Record<string, (first: number) => string> = {
  projects: (first) => `{ projects(first: ${first}) { edges { node { slug role owner { name } } } } }`,
  batches: (first) => `{ batches(first: ${first}) { edges { node { id status owner { name } } } } }`,
  jobs: (first) => `{ jobs(first: ${first}) { edges { node { jobId status params latest } } } }`,
  hosts: (first) => `{ hosts(first: ${first}) { edges { node { id hostname owner { name } } } } }`,
  audit: (first) => `{ audit(first: ${first}) { edges { node { action subject actor { name } } } } }`,
  reports: (first) =>
    `{ reports(first: ${Math.min(first, 100)}) { edges { node { title owner { name } canEdit shared } } } }`,
  savedViews: (first) =>
    `{ savedViews(first: ${first}) { edges { node { title path owner { name } canEdit } } } }`,
  firings: (first) =>
    `{ project(slug: "p") { rules { items { firings(first: ${first}) { edges { node { firedAt messages { state } } } } } } } }`,
}
// These are lists without pages, so what they are read from has as many.
Object.assign(ENTITIES, {
  'members and people': (n) => `{ project(slug: "of${n}") { members { role email user { id name } } } }`,
  rules: (n) =>
    `{ project(slug: "of${n}") { rules { items { name trigger enabled channels recipients } } } }`,
  links: (n) => `{ project(slug: "of${n}") { links { title opens createdBy { name } } } }`,
  shares: (n) => `{ batch(id: "of${n}") { shares { id opens createdBy { name } } } }`,
  commands: (n) =>
    `{ batch(id: "of${n}") { agentCommands(first: ${n}) { edges { node { kind state requestedBy { name } } } } } }`,
} satisfies typeof ENTITIES)
DOCUMENTS['tokens, 500'] = { query: '{ viewer { tokens { name scope lastUsedAt } } }' }
for (const [entity, query] of Object.entries(ENTITIES))
  for (const first of [50, 500]) DOCUMENTS[`${entity}, a page of ${first}`] = { query: query(first) }
/** Operations of the page, with variables that the data below answers. */
const OF_PAGE: Record<string, Record<string, unknown>> = {
  Batches: { first: 80, columns: [], withColumns: false },
  BatchParts: {
    id: 'b1',
    first: 80,
    ...{ head: true, jobs: true, eta: true, health: true },
    ...{ control: true, delivery: true, shares: true, muted: true },
  },
  BatchJobs: { id: 'b1', first: 500 },
  HomeParts: { summary: true, running: true, lost: true, hosts: true },
  ProjectParts: { slug: 'p', head: true, fields: true, members: true, rules: true, links: true },
  Projects: {},
}

/** The documents that are sent to a checkout, by what they read. */
function documentsOf(checkout: string): Record<string, Asked> {
  const folder = join(checkout, 'web/src/lib/api')
  const page = readdirSync(folder)
    .filter((file) => file.endsWith('.graphql'))
    .map((file) => readFileSync(join(folder, file), 'utf8'))
  // Its operations share fragments.
  const operations = separateOperations(parse(page.join('\n')))
  const documents = { ...DOCUMENTS }
  for (const [name, variables] of Object.entries(OF_PAGE)) {
    const operation = operations[name] as DocumentNode
    documents[`page: ${name}`] = { query: print(operation), variables }
  }
  return documents
}

async function start(checkout: string): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, 'kit/graphql-side.ts'), [checkout], {
    execArgv: [
      '--import',
      'tsx',
      ...(process.env.BENCH_PROFILE ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`] : []),
    ],
  })
  child.once('exit', (code) => code !== 0 && process.exit(1))
  await once(child, 'message')
  return child
}

async function ask(child: ChildProcess, what: string, asked: Asked): Promise<Measured> {
  child.send(asked)
  const [answer]: Measured[] = (await once(child, 'message')) as Measured[]
  if (answer === undefined || answer.errors !== undefined)
    throw new Error(`${what}: ${JSON.stringify(answer?.errors)}`)
  return answer
}

const shown = (rounds: readonly Measured[]): string => {
  const middle = (of: (one: Measured) => number): string => median(rounds.map(of)).toFixed(1)
  return `${rounds[0]?.statements} statements, ${middle(({ ms }) => ms)} ms, CPU ${middle(({ cpuMs }) => cpuMs)}`
}

async function main(before: string | undefined): Promise<Figure[]> {
  const checkouts = before === undefined ? [HERE] : [HERE, resolve(before)]
  const sides = await Promise.all(checkouts.map(start))
  const documents = checkouts.map(documentsOf)
  const only = process.env.BENCH_ONLY
  try {
    const figures: Figure[] = []
    for (const what of Object.keys(documents[0] ?? {})) {
      if (only !== undefined && !what.includes(only)) continue
      const rounds: Measured[][] = sides.map(() => [])
      for (let round = 0; round < ROUNDS + WARM_UP; round++)
        for (const [n, side] of sides.entries()) {
          const one = await ask(side, what, documents[n]?.[what] as Asked).catch((error) => {
            if (n === 0) throw error
          })
          if (one === undefined) continue
          if (round >= WARM_UP) rounds[n]?.push(one)
        }
      const [now = [], then] = rounds
      const time = (of: readonly Measured[]): number => median(of.map(({ ms }) => ms))
      figures.push({
        what,
        value: shown(now),
        limit: then === undefined ? '' : shown(then),
        ...(then !== undefined &&
          then.length > 0 && {
            ratio: time(now) / time(then),
            aim: { most: what.startsWith('page: ') ? 1.5 : 3 },
          }),
      })
    }
    return figures
  } finally {
    for (const side of sides) {
      side.send('end')
      await once(side, 'exit')
    }
  }
}

printFigures('graphql', await main(process.argv[2]))
