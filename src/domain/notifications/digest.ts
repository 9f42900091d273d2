import { line, type Message } from './message.ts'

/** One notification in a digest. */
export interface DigestEntry {
  project: string
  headline: string
  url: string
}

/** Writes one message about everything that budgets and quiet hours held back. This file does no I/O. */
export function digestOf(digest: {
  /** The number of all of them, including those that are not named. */
  total: number
  /** The newest one first. */
  entries: readonly DigestEntry[]
  at: string
  home: string
}): Message {
  const { total, entries, at, home } = digest
  const headline = `${total} ${total === 1 ? 'notification was' : 'notifications were'} held back`
  const lines: Message['lines'] = entries.map((one) => ({
    text: `[${line(one.project, 128)}] ${one.headline}`,
    url: one.url,
  }))
  const more = total - entries.length
  if (more > 0) lines.push({ text: `and ${more} more` })
  return {
    type: 'digest',
    at,
    subject: headline,
    headline,
    rows: [],
    lines,
    notes: [
      'They came in quiet hours, or were more than may be sent in an hour: this one message covers all of them.',
    ],
    page: home,
    open: 'Open the experiment monitor',
    data: { held_back: total, entries, url: home },
  }
}
