import { Marked } from 'marked'
import { z } from 'zod'
import { escapeHtml } from '../../domain/escape-html.ts'
import type { Theme } from '../../domain/pictures/index.ts'
import { type OpenReport, openReport } from '../../domain/reports/index.ts'
import { openShare } from '../../domain/shares/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { publicAddress } from '../request/public-address.ts'
import type { Routes } from '../request/routes.ts'
import { countPoints } from '../server/visitors.ts'
import { linkOf, sendEmbed } from './embed-page.ts'
import { chartHtml, shownBatch, stateText, tableHtml, titleOf } from './shown-batch.ts'

/** As the page renders texts (web/src/lib/markdown.ts): HTML is text, and nothing loads. */
const markdown = new Marked({
  breaks: true,
  gfm: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    image: ({ href, text }) => safeLink(href, escapeHtml(text || href)),
    link({ href, tokens }) {
      return safeLink(href, this.parser.parseInline(tokens))
    },
  },
})
/** Links lead to the web or to an address of mail. */
const safeLink = (href: string, html: string): string =>
  /^(?:https?|mailto):/i.test(href)
    ? `<a href="${escapeHtml(href)}" target="_blank" rel="noopener noreferrer nofollow">${html}</a>`
    : html

const BLOCK =
  /^@(batch|chart|jobs)\(\s*(?:"([^"\n]+)"|([^,)\n"]+))\s*(?:,\s*(?:"([^"\n]+)"|([^)\n]+?))\s*)?\)[ \t]*$/
const OTHER_BLOCK = /^@(?:media|sweep|runs|view)\(.*\)[ \t]*$/
/** Blocks of runs in one page: each chart reads points. */
const MAX_BLOCKS = 20

/** A report in a frame on another site. */
export function reportEmbedRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared-reports/:token/embed',
    {
      schema: {
        tags: ['embeds'],
        summary: 'A page for a frame on another site: the report that a link opens',
        security: [],
        params: z.object({ token: z.string() }),
        querystring: z.strictObject({ theme: z.enum(['light', 'dark']).default('light') }),
        produces: ['text/html'],
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const { theme } = request.query
      const report = await openReport(services.sql, token, services.now())
      if (report === undefined) throw new Problem('report_not_found')
      if (!report.embed) throw new Problem('embed_not_allowed')
      const page = `${publicAddress(services.config, request)}/sr/${token}`
      const { html, points } = await bodyHtml(services, report, { theme, page })
      countPoints(request, points)
      const head = `<header><h1>${linkOf(page, report.title)}</h1></header>`
      return sendEmbed(reply, { title: report.title, theme, live: false, body: head + html })
    },
  )
}

async function bodyHtml(
  services: Services,
  report: OpenReport,
  { theme, page }: { theme: Theme; page: string },
): Promise<{ html: string; points: number }> {
  const parts: string[] = []
  let points = 0
  let blocks = 0
  for (const part of partsOf(report.body)) {
    if (part.kind === 'text') {
      parts.push(markdown.parse(part.text, { async: false }))
    } else if (part.kind === 'other' || ++blocks > MAX_BLOCKS) {
      parts.push(`<p>${linkOf(page, 'Shown on the page of the report')}</p>`)
    } else {
      const block = await blockHtml(services, report, part, theme)
      points += block.points
      parts.push(block.html)
    }
  }
  return { html: parts.join(''), points }
}

interface Block {
  kind: 'batch' | 'chart' | 'jobs'
  id: string
  key: string | undefined
}

async function blockHtml(
  services: Services,
  report: OpenReport,
  { kind, id, key }: Block,
  theme: Theme,
): Promise<{ html: string; points: number }> {
  const token = report.batches.find((batch) => batch.id === id)?.token
  const share = token === undefined ? undefined : await openShare(services.sql, token, services.now())
  if (share === undefined)
    return { html: '<p><small>A run that this link does not open</small></p>', points: 0 }
  const shown = await shownBatch(services, share)
  if (kind === 'chart') return chartHtml(services, shown, { key, theme, width: 680, height: 300 })
  const state = `<p><strong>${escapeHtml(titleOf(shown))}</strong> <small>${escapeHtml(stateText(shown))}</small></p>`
  return { html: kind === 'batch' ? state : state + tableHtml(shown, key), points: 0 }
}

/** The text of a report and the blocks between; a block of code embeds nothing. */
function partsOf(body: string): ({ kind: 'text'; text: string } | { kind: 'other' } | Block)[] {
  const parts: ReturnType<typeof partsOf> = []
  let lines: string[] = []
  let fence: string | undefined
  const flush = (): void => {
    if (lines.length > 0) parts.push({ kind: 'text', text: lines.join('\n') })
    lines = []
  }
  for (const line of body.split('\n')) {
    const mark = /^[ \t]*(```|~~~)/.exec(line)?.[1]
    if (fence === undefined) fence = mark
    else if (mark === fence) fence = undefined
    const found = fence === undefined && mark === undefined ? BLOCK.exec(line) : null
    const isOther = fence === undefined && mark === undefined && OTHER_BLOCK.test(line)
    if (found === null && !isOther) {
      lines.push(line)
      continue
    }
    flush()
    if (found === null) parts.push({ kind: 'other' })
    else {
      const [, kind, quoted, plain = '', quotedKey, plainKey] = found
      parts.push({
        kind: kind as Block['kind'],
        id: quoted ?? plain.trim(),
        key: quotedKey ?? plainKey?.trim(),
      })
    }
  }
  flush()
  return parts
}
