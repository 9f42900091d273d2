import { ago, duration } from '../../lib/words.ts'

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const SECONDS = /(?<![\d.])(\d{2,}) s\b/g

/** A sentence of the service as people read it: instants by how long ago they were, seconds in their greatest units. */
export const healthReasonText = (text: string): string =>
  text
    .replace(INSTANT, (instant) => ago(instant))
    .replace(SECONDS, (_, seconds: string) => duration(Number(seconds)))
