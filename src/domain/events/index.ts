export { accepts } from './accepts.ts'
export { EVENT_TYPES, eventTypeCode, type Incoming } from './incoming.ts'
export {
  type Event,
  type EventType,
  eventJsonSchema,
  eventSchema,
  type Numeric,
} from './schema.ts'
export { MAX_SERIES, numberOf, type SeriesValues, seriesOf, writeNumber } from './series.ts'
