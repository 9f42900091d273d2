export { accepts } from './accepts.ts'
export { EVENT_TYPES, eventTypeCode, type Incoming, madeAt, type Receipt } from './incoming.ts'
export {
  type Event,
  type EventType,
  eventJsonSchema,
  eventSchema,
  type Numeric,
} from './schema.ts'
export {
  type IgnoredValue,
  numberOf,
  type SeriesValues,
  seriesOf,
  seriesThat,
  writeNumber,
} from './series.ts'
