import { clock, duration } from '../../lib/words.ts'

const INSTANT = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g
const SECONDS = /(?<![\d.])(\d{2,}) s\b/g

/** Formats a sentence of the service: instants as local times, seconds as durations. */
export const healthReasonText = (text: string): string =>
  text
    .replace(INSTANT, (instant) => clock(Date.parse(instant)))
    .replace(SECONDS, (_, seconds: string) => duration(Number(seconds)))
