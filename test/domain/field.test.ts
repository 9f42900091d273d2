import { isObjectType } from 'graphql'
import { describe, expect, test } from 'vitest'
import { commandFields, hostFields, stepFields } from '../../src/domain/agents/index.ts'
import { attemptFields } from '../../src/domain/attempts/index.ts'
import { auditFields } from '../../src/domain/audit.ts'
import { batchFields } from '../../src/domain/batches/index.ts'
import {
  columnsOf,
  type Derived,
  type Fields,
  graphqlNames,
  instant,
  nullable,
  sentBy,
  serial,
  shapeOf,
  text,
  viewsOf,
} from '../../src/domain/field.ts'
import { jobFields } from '../../src/domain/jobs/index.ts'
import { ruleFields } from '../../src/domain/notifications/index.ts'
import { memberFields, projectFields } from '../../src/domain/projects/index.ts'
import { recordRows } from '../../src/domain/record-rows.ts'
import { shareFields } from '../../src/domain/shares/index.ts'
import { tokenFields } from '../../src/domain/tokens/index.ts'
import { buildSchema } from '../../src/graphql/schema.ts'

const schema = buildSchema()

// The fields of an entity, each declared once (domain/field.ts).

const fields = {
  long_name: { type: text, means: 'A text', column: 'stored_name', public: 'shown' },
  made: { type: nullable(text), public: 'hidden' },
  gone_at: { type: text, optional: true, graphql: null, public: 'shown' },
} as const satisfies Fields

test('a field without its visibility does not compile', () => {
  // @ts-expect-error `public` is missing
  const undecided = { name: { type: text, column: 'name' } } as const satisfies Fields
  expect(undecided.name.column).toBe('name')
})

describe('a table of fields', () => {
  test('gives the schema of answers, which refuses a wrong type and a missing field', () => {
    const shape = shapeOf(fields)
    expect(shape.parse({ long_name: 'a', made: null })).toEqual({ long_name: 'a', made: null })
    expect(shape.safeParse({ long_name: 1, made: null }).success).toBe(false)
    expect(shape.safeParse({ long_name: 'a' }).success).toBe(false)
  })

  test('gives the view of a row: columns under their names, and computed fields', () => {
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

test('data of an event is a field of a job only if it is accepted', () => {
  const unit = sentBy(jobFields, 'job_start').find(({ name }) => name === 'step_unit')
  expect(unit?.accepts('tokens')).toBe(true)
  expect(unit?.accepts('two\nlines')).toBe(false)
  expect(unit?.accepts(5)).toBe(false)
})

describe('an entity that Prisma reads', () => {
  const stored = {
    id: { type: serial, column: 'id', public: 'hidden' },
    long_name: { type: text, column: 'long_name', public: 'hidden' },
    created_at: { type: instant, column: 'created_at', public: 'hidden' },
    owner: { type: text, public: 'hidden' },
  } as const satisfies Fields

  const { select, rowOf } = recordRows(stored, { owner: { from: 'person.name' } })

  test('is read with only the columns of its table', () => {
    expect(select).toEqual({
      id: true,
      longName: true,
      createdAt: true,
      person: { select: { name: true } },
    })
  })

  test('has the names of the field table, with times as text and large integers as numbers', () => {
    const record = {
      id: 5n,
      longName: 'a',
      createdAt: new Date(Date.UTC(2026, 0, 31)),
      hash: 'secret',
      person: { name: 'Ada' },
    }
    expect(rowOf(record)).toEqual({ id: 5, long_name: 'a', created_at: '2026-01-31T00:00:00Z', owner: 'Ada' })
  })
})

test.each([
  ['AuditEntry', auditFields],
  ['AgentCommand', commandFields],
  ['Attempt', attemptFields],
  ['Batch', batchFields],
  ['Host', hostFields],
  ['Job', jobFields],
  ['Project', projectFields],
  ['ProjectMember', memberFields],
  ['Rule', ruleFields],
  ['Share', shareFields],
  ['TimelineStep', stepFields],
  ['Token', tokenFields],
])('the GraphQL type %s has the fields of its field table', (name, table: Fields) => {
  const type = schema.getType(name)
  expect(isObjectType(type) ? Object.keys(type.getFields()) : []).toEqual(
    expect.arrayContaining(graphqlNames(table)),
  )
})
