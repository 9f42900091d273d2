export { numberOf, writeNumber } from '../numbers.ts'
export { accepts } from './accepts.ts'
export {
  EVENT_TYPES,
  eventTypeCode,
  type Incoming,
  madeAt,
  type Receipt,
  RIGHT_CLOCK_MS,
  typeCodes,
} from './incoming.ts'
export {
  type Event,
  type EventType,
  eventJsonSchema,
  eventSchema,
  type Numeric,
} from './schema.ts'
export {
  type IgnoredValue,
  type SeriesValues,
  seriesOf,
  seriesThat,
} from './series.ts'
