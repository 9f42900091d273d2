import { GraphQLError, Kind } from 'graphql'
import { numberOf, writeNumber } from '../domain/events/index.ts'
import { isStep, STEP_RANGE } from '../domain/step.ts'
import { builder } from './builder.ts'
import { orColumn } from './columns.ts'

builder.scalarType('DateTime', {
  description: 'An instant in UTC, such as 2026-01-31T23:59:59Z, with 3 or 6 decimals where it has any.',
  serialize: (value) => value,
  parseValue: (value) => {
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value)) && /Z$/.test(value)) return value
    throw new GraphQLError('DateTime must be an ISO 8601 text that ends in Z')
  },
})

const NUMBER = 'Number must be a number, or "NaN", "Infinity" or "-Infinity"'

builder.scalarType('Number', {
  description: 'A number; values that JSON cannot represent are the text "NaN", "Infinity" or "-Infinity".',
  serialize: (value) => (typeof value === 'number' ? writeNumber(value) : value),
  parseValue: (value) => {
    const number = numberOf(value)
    if (number === undefined) throw new GraphQLError(NUMBER)
    return number
  },
  parseLiteral: (node) => {
    const number =
      node.kind === Kind.INT || node.kind === Kind.FLOAT
        ? Number(node.value)
        : node.kind === Kind.STRING
          ? numberOf(node.value)
          : undefined
    if (number === undefined) throw new GraphQLError(NUMBER)
    return number
  },
})

const step = (value: unknown): number => {
  if (isStep(value)) return value
  throw new GraphQLError(`Step ${STEP_RANGE}`)
}

builder.scalarType('Step', {
  description: 'A step of a series: a whole number from -(2^53 - 1) to 2^53 - 1.',
  serialize: orColumn(step),
  parseValue: step,
  parseLiteral: (node) => step(node.kind === Kind.INT ? Number(node.value) : undefined),
})

builder.scalarType('JSON', {
  description: 'Fields under the names that the sender used.',
  serialize: (value) => value,
})
