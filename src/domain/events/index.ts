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
export type { SentMedia } from './media.ts'
export {
  joinPacked,
  type PayloadTemplate,
  payloadEpoch,
  payloadText,
  splitPacked,
  splitPayload,
  templateOf,
  withTemplate,
} from './payload.ts'
export {
  type Event,
  type EventType,
  eventJsonSchema,
  eventSchema,
  INSTANT,
  isRealInstant,
  type Numeric,
  UUID,
} from './schema.ts'
export {
  type IgnoredValue,
  type SeriesValues,
  seriesOf,
  seriesThat,
} from './series.ts'
