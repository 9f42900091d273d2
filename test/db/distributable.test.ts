import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { TELEMETRY_TABLES } from '../../src/db/cluster.ts'

/**
 * Telemetry may be distributed over the workers of a Citus cluster by `batch_key` (docs/decisions/0025). Without a cluster
 * this reads the statements instead: each has to name the key, and must not use what a distributed planner refuses.
 */
const SRC = join(import.meta.dirname, '../../src')
const NAMED = /^\s*\/\* ([a-z][a-z_]*(?:\.[a-z_]+)+) \*\//
/** A telemetry table that a statement reads or writes. */
const TELEMETRY = new RegExp(
  `\\b(?:from|join|into|update|copy|only|using)\\s+(?:${TELEMETRY_TABLES.join('|')})\\b`,
)

/** What a planner refuses across shards, or sends to all of them. */
const REFUSED: Record<string, RegExp> = {
  'a lock on rows of several shards': /\bfor (?:no key )?(?:update|share)\b/,
  'a recursive query': /\bwith recursive\b/,
  'grouping sets': /\b(?:grouping sets|rollup|cube)\s*\(/,
  'a cursor for update': /\bwhere current of\b/,
  'a whole-table lock': /\block table\b/,
  'a merge': /\bmerge into\b/,
  'a sample of rows': /\btablesample\b/,
  'a change of the key': /\bset\s+batch_key\s*=/,
}

/** Of no batch: they are sent to all shards, and their answers are small. */
const OF_ALL_BATCHES: Record<string, string> = {
  'backup.moment': 'opens a snapshot on every node',
  'retention.newest': 'one row of each shard, by its index',
}

function statementsIn(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.ES2023, true)
  const found: string[] = []
  const look = (node: ts.Node): void => {
    if (ts.isTemplateLiteral(node) || ts.isStringLiteralLike(node)) {
      const text = node.getText().slice(1, -1)
      if (NAMED.test(text)) found.push(text)
    }
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}

const statements = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.includes('generated'))
  .flatMap((path) => statementsIn(join(SRC, path)))
const aboutTelemetry = statements.filter((text) => TELEMETRY.test(text))

test('every statement about telemetry names batch_key', () => {
  expect(aboutTelemetry.length).toBeGreaterThan(30)
  // A part of a statement may come from a function that is given the key.
  const without = aboutTelemetry.filter((text) => !/\b(?:batch_key|batchKey)\b/.test(text))
  expect(without.map((text) => NAMED.exec(text)?.[1]).sort()).toEqual(Object.keys(OF_ALL_BATCHES))
})

test.each(Object.entries(REFUSED))('no statement about telemetry uses %s', (_, refused) => {
  const using = aboutTelemetry.filter((text) => refused.test(text))
  expect(using.map((text) => NAMED.exec(text)?.[1])).toEqual([])
})
