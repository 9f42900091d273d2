import { escapeHtml } from '../escape-html.ts'
import { type EmailMessage, line } from './email-template.ts'

/** One notification in a digest. */
export interface DigestEntry {
  project: string
  headline: string
  url: string
}

/** Writes one mail about everything that the hourly budgets held back. This file does no I/O. */
export function writeDigest(digest: {
  /** The number of all of them, including those that are not named. */
  total: number
  entries: readonly DigestEntry[]
  /** The link that ends mail of each project. */
  ends: readonly (readonly [project: string, url: string])[]
}): EmailMessage {
  const { total, entries, ends } = digest
  const title = `${total} ${total === 1 ? 'notification was' : 'notifications were'} held back`
  const why = 'More happened than may be mailed in an hour, so this one mail covers all of it.'
  const more = total - entries.length
  const rest = more > 0 ? `and ${more} more` : undefined
  const name = (project: string): string => line(project, 128)
  return {
    subject: title,
    text: [
      title,
      why,
      '',
      ...entries.flatMap((one) => [`- [${name(one.project)}] ${one.headline}`, `  ${one.url}`]),
      ...(rest === undefined ? [] : [rest]),
      '',
      '-- ',
      ...ends.map(([project, url]) => `Stop mail of ${name(project)}: ${url}`),
      '',
    ].join('\n'),
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      `<title>${escapeHtml(title)}</title></head>`,
      '<body style="font-family: system-ui, sans-serif; color: #1c2024; line-height: 1.5">',
      `<h1 style="font-size: 18px">${escapeHtml(title)}</h1><p>${why}</p>`,
      `<ul>${entries
        .map(
          (one) =>
            `<li>[${escapeHtml(name(one.project))}] <a href="${escapeHtml(one.url)}">${escapeHtml(one.headline)}</a></li>`,
        )
        .join('')}</ul>`,
      rest === undefined ? '' : `<p>${rest}</p>`,
      `<p style="color: #60646c; font-size: 13px">${ends
        .map(([project, url]) => `<a href="${escapeHtml(url)}">Stop mail of ${escapeHtml(name(project))}</a>`)
        .join('<br>')}</p></body></html>`,
      '',
    ].join('\n'),
  }
}
