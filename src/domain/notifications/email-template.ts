import { escapeHtml } from '../escape-html.ts'
import { line, type Message } from './message.ts'

/** The text of a mail. This file does no I/O. */
export interface EmailMessage {
  subject: string
  text: string
  html: string
  /** A chart, which the HTML shows. */
  picture?: Buffer
}

/** The name of the chart in the mail. */
export const PICTURE_ID = 'chart@svc'

/** A link in the foot of a mail, such as the one that ends it. */
export type FootLink = readonly [label: string, url: string]

/** A chart that is sent with a message. */
export interface Picture {
  png: Buffer
  label: string
  width: number
  height: number
}

/** Writes a message as mail, with its text escaped in the HTML. */
export function renderEmail(message: Message, foot: readonly FootLink[], picture?: Picture): EmailMessage {
  const { headline, rows, lines, notes, page, open } = message
  return {
    subject: line(message.subject, 250),
    ...(picture !== undefined && { picture: picture.png }),
    text: [
      headline,
      '',
      ...rows.map(([name, value]) => `${name}: ${value}`),
      ...(lines.length === 0
        ? []
        : [
            '',
            ...lines.flatMap(({ text, url }) => [`- ${text}`, ...(url === undefined ? [] : [`  ${url}`])]),
          ]),
      '',
      page,
      '',
      '-- ',
      ...notes,
      ...foot.map(([label, url]) => `${label}: ${url}`),
      '',
    ].join('\n'),
    html: [
      '<!doctype html><html lang="en"><head><meta charset="utf-8">',
      `<title>${escapeHtml(headline)}</title></head>`,
      '<body style="font-family: system-ui, sans-serif; color: #1c2024; line-height: 1.5">',
      `<h1 style="font-size: 18px">${escapeHtml(headline)}</h1>`,
      `<table cellpadding="0" cellspacing="0">${rows
        .map(
          ([name, value]) =>
            `<tr><th align="left" valign="top" style="padding: 2px 16px 2px 0; font-weight: normal; color: #60646c">${escapeHtml(name)}</th><td style="padding: 2px 0; white-space: pre-wrap">${escapeHtml(value)}</td></tr>`,
        )
        .join('')}</table>`,
      picture === undefined
        ? ''
        : `<p><img src="cid:${PICTURE_ID}" alt="${escapeHtml(picture.label)}" width="${picture.width}" height="${picture.height}" style="max-width: 100%; height: auto"></p>`,
      lines.length === 0 ? '' : `<ul>${lines.map(lineHtml).join('')}</ul>`,
      `<p><a href="${escapeHtml(page)}">${escapeHtml(open)}</a></p>`,
      `<p style="color: #60646c; font-size: 13px">${[
        ...notes.map(escapeHtml),
        ...foot.map(([label, url]) => `<a href="${escapeHtml(url)}">${escapeHtml(label)}</a>`),
      ].join('<br>')}</p></body></html>`,
      '',
    ].join('\n'),
  }
}

const lineHtml = ({ text, url }: Message['lines'][number]): string =>
  url === undefined
    ? `<li>${escapeHtml(text)}</li>`
    : `<li><a href="${escapeHtml(url)}">${escapeHtml(text)}</a></li>`
