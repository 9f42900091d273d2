import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'
import { escapeHtml } from '../../domain/escape-html.ts'
import type { Theme } from '../../domain/pictures/index.ts'

/** The style of all embedded pages: one text, whose hash the policy names. */
const STYLE = [
  ':root{font:13px/1.5 Inter,system-ui,sans-serif;color:#12161f;background:#fff}',
  ':root[data-theme=dark]{color:#e8ebf1;background:#0f1218;color-scheme:dark}',
  'body{margin:0;padding:8px 12px}',
  'header{display:flex;flex-wrap:wrap;gap:4px 12px;align-items:baseline;margin-bottom:4px}',
  'h1{font-size:15px;margin:0;font-weight:600}h2{font-size:15px}h3{font-size:13px}',
  'a{color:#3b5bdb}[data-theme=dark] a{color:#8aa2ff}',
  'svg{display:block;max-width:100%;height:auto;margin:4px 0}',
  'table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:4px 0}',
  'th,td{text-align:left;padding:2px 12px 2px 0;border-bottom:1px solid #e3e6ec;white-space:nowrap}',
  '[data-theme=dark] th,[data-theme=dark] td{border-color:#272d3a}',
  'th{font-weight:500}small,th{color:#535c6b}[data-theme=dark] small,[data-theme=dark] th{color:#a3adbd}',
  'div{overflow-x:auto}pre{overflow-x:auto;padding:8px;background:#8884}code{font-size:12px}',
].join('')

/**
 * What an embedded page may do: nothing loads or runs, any site may frame it, and its links open outside of the frame.
 * All other pages of the service refuse frames (server/security-headers.ts).
 */
export const EMBED_POLICY = [
  // To reload by itself counts as a script; the next line lets none run.
  'sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox',
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  'frame-ancestors *',
].join('; ')

/** Pictures are no pages: as one of their own they load nothing either. */
const PICTURE_POLICY = "default-src 'none'; frame-ancestors *"

/** How long other servers may show an embed after it changed or its link was revoked. */
const MAX_AGE_S = 60

/** Headers of everything that other sites may show. */
export function forOtherSites(reply: FastifyReply, policy = PICTURE_POLICY): FastifyReply {
  return reply
    .header('content-security-policy', policy)
    .header('cross-origin-resource-policy', 'cross-origin')
    .header('cache-control', `public, max-age=${MAX_AGE_S}`)
    .header('referrer-policy', 'no-referrer')
}

/** @param body HTML, whose texts are escaped */
export function sendEmbed(
  reply: FastifyReply,
  page: { title: string; theme: Theme; live: boolean; body: string },
): FastifyReply {
  const { title, theme, live, body } = page
  return forOtherSites(reply, EMBED_POLICY)
    .type('text/html; charset=utf-8')
    .send(
      [
        `<!doctype html><html lang="en" data-theme="${theme}"><head><meta charset="utf-8">`,
        '<meta name="viewport" content="width=device-width">',
        // Without scripts, a page that runs is loaded again.
        live ? `<meta http-equiv="refresh" content="${MAX_AGE_S}">` : '',
        `<title>${escapeHtml(title)}</title><style>${STYLE}</style></head><body>${body}</body></html>`,
      ].join(''),
    )
}

/** A link that leaves the frame. */
export const linkOf = (url: string, text: string): string =>
  `<a href="${escapeHtml(url)}" target="_blank" rel="noopener noreferrer">${escapeHtml(text)}</a>`
