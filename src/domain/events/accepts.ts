import { Ajv, type ValidateFunction } from 'ajv'
import { type Event, type EventType, eventJsonSchema, isRealInstant } from './schema.ts'

/**
 * The schema, compiled to a check that answers only yes or no, in a fifth of the time and without copies, because every
 * event passes here. If it says no, the schema itself finds out why.
 */
const validators = compile()

function compile(): Map<unknown, ValidateFunction> {
  // Each format has an equivalent pattern beside it; `required` inside anyOf is intended.
  const ajv = new Ajv({ strict: false, validateFormats: false })
  const { anyOf } = eventJsonSchema() as { anyOf: { properties: { event_type: { const: EventType } } }[] }
  return new Map(anyOf.map((schema) => [schema.properties.event_type.const, ajv.compile(schema)]))
}

/** Whether `eventSchema` accepts the value. */
export function accepts(value: object): value is Event {
  const { event_type: type, timestamp } = value as Partial<Event>
  return validators.get(type)?.(value) === true && isRealInstant(timestamp as string)
}
