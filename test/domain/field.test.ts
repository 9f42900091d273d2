import { describe, expect, test } from 'vitest'
import {
  columnsOf,
  type Derived,
  type Fields,
  graphqlNames,
  nullable,
  sentBy,
  shapeOf,
  text,
  viewsOf,
} from '../../src/domain/field.ts'
import { jobFields } from '../../src/domain/jobs/index.ts'

// The fields of an entity, each declared once (domain/field.ts).

const fields = {
  long_name: { type: text, means: 'A text', column: 'stored_name', public: 'shown' },
  made: { type: nullable(text), public: 'hidden' },
  gone_at: { type: text, optional: true, graphql: null, public: 'shown' },
} as const satisfies Fields

test('a field that does not say who may see it does not compile', () => {
  // @ts-expect-error `public` is missing
  const undecided = { name: { type: text, column: 'name' } } as const satisfies Fields
  expect(undecided.name.column).toBe('name')
})

describe('a table of fields', () => {
  test('gives the shape of answers, which refuses another type and a field that is missing', () => {
    const shape = shapeOf(fields)
    expect(shape.parse({ long_name: 'a', made: null })).toEqual({ long_name: 'a', made: null })
    expect(shape.safeParse({ long_name: 1, made: null }).success).toBe(false)
    expect(shape.safeParse({ long_name: 'a' }).success).toBe(false)
  })

  test('gives the view of a row: columns under their own names, and what is made of it', () => {
    const made: Derived<typeof fields, [row: { stored_name: string; end?: string }]> = {
      made: (row) => `${row.stored_name}!`,
      gone_at: (row) => row.end,
    }
    const view = viewsOf(fields, made)
    expect(view({ stored_name: 'a' })).toEqual({ long_name: 'a', made: 'a!' })
    expect(Object.keys(view({ stored_name: 'a' }))).toEqual(['long_name', 'made'])
    expect(view({ stored_name: 'a', end: 'now' })).toEqual({ long_name: 'a', made: 'a!', gone_at: 'now' })
  })

  test('gives the columns to read and the names in GraphQL', () => {
    expect(columnsOf(fields, 't')).toBe('t.stored_name')
    expect(graphqlNames(fields)).toEqual(['longName', 'made'])
    expect(graphqlNames(fields, (field) => field.public !== 'hidden')).toEqual(['longName'])
  })
})

test('what an event says of a job is a field only if it is accepted', () => {
  const unit = sentBy(jobFields, 'job_start').find(({ name }) => name === 'step_unit')
  expect(unit?.accepts('tokens')).toBe(true)
  expect(unit?.accepts('two\nlines')).toBe(false)
  expect(unit?.accepts(5)).toBe(false)
})
