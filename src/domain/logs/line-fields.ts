import { z } from 'zod'
import { type Fields, id, instant, nullable, own, serial, text, type ViewOf } from '../field.ts'
import { LOG_STREAMS } from './stream.ts'

/** A log line (contract §4), in answers and in the live stream. */
export const logLineFields = {
  db_id: { type: serial, public: 'shown' },
  timestamp: { type: instant, public: 'shown' },
  job_id: { type: id, public: 'shown' },
  level: { type: text, public: 'shown' },
  stream: {
    type: nullable(own(z.enum(LOG_STREAMS), 'text')),
    means: 'Null for lines that were not printed',
    public: 'shown',
  },
  line: { type: text, public: 'shown' },
} as const satisfies Fields

export type LogLine = ViewOf<typeof logLineFields>
