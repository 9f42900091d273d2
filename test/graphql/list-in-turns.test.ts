import { setTimeout as sleep } from 'node:timers/promises'
import { buildSchema, execute, parse } from 'graphql'
import { expect, test } from 'vitest'
import { listInTurns } from '../../src/graphql/paging.ts'
import { createTurns } from '../../src/turns.ts'

const schema = buildSchema('type Row { n: Int! } type Query { rows: [Row!]! }')

test.each([0, 1, 100, 101, 1_000])('graphql-js answers a list of %d rows, in their order', async (size) => {
  const rows = Array.from({ length: size }, (_, n) => ({ n }))
  const result = await execute({
    schema,
    document: parse('{ rows { n } }'),
    rootValue: { rows: listInTurns(rows, createTurns()) },
  })
  expect(result).toEqual({ data: { rows } })
})

test('the rows of a long list are completed in several turns', async () => {
  let turns = 0
  let [done, most] = [0, 0]
  const rows = Array.from({ length: 1_000 }, () => ({ n: () => ++done }))
  let before = 0
  const pass = async () => {
    most = Math.max(most, done - before)
    before = done
    turns++
    await sleep(1)
  }
  await execute({
    schema,
    document: parse('{ rows { n } }'),
    rootValue: { rows: listInTurns(rows, createTurns(pass)) },
  })
  expect({ turns, done, most }).toEqual({ turns: 9, done: 1_000, most: 100 })
})
