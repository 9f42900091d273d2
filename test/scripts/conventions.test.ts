import { expect, test } from 'vitest'
import { neededStatements } from '../../scripts/conventions/migrations.ts'
import { sharedQueryKeys } from '../../scripts/conventions/query-keys.ts'
import { statementsOf } from '../../scripts/conventions/statements.ts'

test('a statement without a name is noticed, a fragment is not', () => {
  const text = [
    'const rows = await sql`select 1`',
    'const named = await tx`/* noun.verb */ select 1`',
    "await db.unsafe('delete from batches')",
    'const part = (db: Db): Fragment => db`select 2`',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is source text
    'await db`/* noun.other */ select * from (${db`select 3`}) t`',
    'const run = async (tx: Tx) => tx`update users set name = 1`',
  ].join('\n')
  const seen = statementsOf('example.ts', text).map(({ line, name }) => [line, name])
  expect(seen).toEqual([
    [1, undefined],
    [2, 'noun.verb'],
    [3, undefined],
    [5, 'noun.other'],
    [6, undefined],
  ])
})

test('what earlier releases must know of a migration is separated from what it adds', () => {
  expect(neededStatements('alter table a add column if not exists b int not null;')).toHaveLength(1)
  expect(neededStatements('alter table a drop column b; create trigger c')).toHaveLength(2)
  expect(
    neededStatements(
      'create index concurrently if not exists d on a (b); create table if not exists e (f int)',
    ),
  ).toEqual([])
})

test('two queries that may have the same key are noticed, unless they read the same', () => {
  const seen = (...lines: string[]) => sharedQueryKeys([{ path: 'web/src/a.ts', text: lines.join('\n') }])
  const bell = "const a = { queryKey: ['notices'], queryFn: fetchBell }"
  const list = "const b = { queryKey: ['notices'], queryFn: fetchNotices }"
  expect(seen(bell, list)).toEqual(['web/src/a.ts:1 and web/src/a.ts:2'])
  expect(seen(bell, bell, list.replace('notices', 'bell'))).toEqual([])
  const one = "useQuery({ queryKey: ['jobs', id], queryFn: () => fetchJobs(id) })"
  expect(seen(one, "useQuery({ queryKey: ['jobs', 'all'], queryFn: fetchAll })")).toHaveLength(1)
  expect(seen(one, "useQuery({ queryKey: ['jobs', ...ids], queryFn: fetchAll })")).toHaveLength(1)
  expect(seen(one, "useQuery({ queryKey: ['jobs'], queryFn: fetchAll })")).toEqual([])
  expect(seen(one, "useQuery({ queryKey: ['jobs', id, 'best'], queryFn: fetchAll })")).toEqual([])
})
