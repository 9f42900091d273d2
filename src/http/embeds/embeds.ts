import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { readBatches } from '../../domain/batches/index.ts'
import { ANONYMOUS } from '../../domain/caller.ts'
import { escapeHtml } from '../../domain/escape-html.ts'
import { lessIsBetter } from '../../domain/metric-goal.ts'
import { namesOfSeries } from '../../domain/metrics/index.ts'
import { badgeOf, pngOf, STATUS_COLOURS, svgOf, VALUE_COLOUR } from '../../domain/pictures/index.ts'
import { presentColumns } from '../../domain/present.ts'
import { clockOf, type Services } from '../../services.ts'
import { numberText } from '../request/number-text.ts'
import { publicAddress } from '../request/public-address.ts'
import { addRoutes, type Routes } from '../request/routes.ts'
import { countPoints } from '../server/visitors.ts'
import { forOtherSites, linkOf, sendEmbed } from './embed-page.ts'
import { oembedRoute } from './oembed.ts'
import { reportEmbedRoute } from './report-embed.ts'
import {
  chartHtml,
  chartOf,
  embeddedBatch,
  type ShownBatch,
  stateText,
  tableHtml,
  titleOf,
  valueText,
} from './shown-batch.ts'

const tags = ['embeds']
const params = z.object({ token: z.string() })
export const theme = z.enum(['light', 'dark']).default('light')
const key = z.string().min(1).max(256).optional().describe('The series; default: a loss')
const look = {
  key,
  theme,
  width: numberText(z.int().min(200).max(1_600).default(640)),
  height: numberText(z.int().min(120).max(900).default(320)),
}
const shared = { tags, params, security: [] }

/** What other sites may show of a link that allows it (docs/embeds.md). */
export function embedRoutes(app: FastifyInstance, services: Services): void {
  addRoutes(app, services, [
    embedRoute,
    chartSvgRoute,
    chartPngRoute,
    badgeRoute,
    reportEmbedRoute,
    oembedRoute,
  ])
}

function embedRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/embed',
    {
      schema: {
        ...shared,
        summary: 'A page for a frame on another site: a chart of the batch, or a table of its jobs',
        querystring: z.strictObject({ ...look, view: z.enum(['chart', 'table']).default('chart') }),
        produces: ['text/html'],
      },
    },
    async (request, reply) => {
      const { token } = request.params
      const { view, ...wanted } = request.query
      const shown = await embeddedBatch(services, token)
      const page = `${publicAddress(services.config, request)}/s/${token}`
      const head = `<header><h1>${linkOf(page, titleOf(shown))}</h1><small>${escapeHtml(stateText(shown))}</small></header>`
      const live = shown.batch.status === 'running'
      const about = { title: titleOf(shown), theme: wanted.theme, live }
      if (view === 'table') return sendEmbed(reply, { ...about, body: head + tableHtml(shown, wanted.key) })
      const { html, points } = await chartHtml(services, shown, wanted)
      countPoints(request, points)
      return sendEmbed(reply, { ...about, body: head + html })
    },
  )
}

function chartSvgRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/chart.svg',
    {
      schema: {
        ...shared,
        summary: 'A chart of the batch as SVG',
        querystring: z.strictObject(look),
        produces: ['image/svg+xml'],
      },
    },
    async (request, reply) => {
      const shown = await embeddedBatch(services, request.params.token)
      const { scene, title, points } = await chartOf(services, shown, request.query)
      countPoints(request, points)
      return forOtherSites(reply)
        .type('image/svg+xml')
        .send(svgOf(scene, `${title} of ${titleOf(shown)}`))
    },
  )
}

function chartPngRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/chart.png',
    {
      compress: false,
      schema: {
        ...shared,
        summary: 'A chart of the batch as PNG, with two pixels for one of its size',
        querystring: z.strictObject(look),
        produces: ['image/png'],
      },
    },
    async (request, reply) => {
      const shown = await embeddedBatch(services, request.params.token)
      const { scene, points } = await chartOf(services, shown, request.query)
      countPoints(request, points)
      return forOtherSites(reply)
        .type('image/png')
        .send(await pngOf(scene))
    },
  )
}

function badgeRoute(routes: Routes, services: Services): void {
  routes.get(
    '/api/shared/:token/badge.svg',
    {
      schema: {
        ...shared,
        summary: 'A badge: the status of the batch, or the best value of a series',
        querystring: z.strictObject({
          key: key.describe('The series; without it, the status'),
          label: z.string().max(100).optional().describe('Default: the name of the batch, or the series'),
        }),
        produces: ['image/svg+xml'],
      },
    },
    async (request, reply) => {
      const { key: wanted, label } = request.query
      const shown = await embeddedBatch(services, request.params.token)
      const { status } = shown.batch
      const value = wanted === undefined ? status : await bestText(services, shown, wanted)
      const colour = wanted === undefined ? (STATUS_COLOURS[status] ?? VALUE_COLOUR) : VALUE_COLOUR
      const about = label ?? wanted ?? titleOf(shown)
      return forOtherSites(reply)
        .type('image/svg+xml')
        .send(svgOf(badgeOf(about, value, colour), `${about}: ${value}`))
    },
  )
}

/** The best value of a series over all jobs and steps. */
async function bestText(services: Services, shown: ShownBatch, key: string): Promise<string> {
  const { sql } = services
  const { keys } = await namesOfSeries(sql, shown.batchKey, {})
  const name = keys.find((one) => shown.nameOf(one) === key)
  if (name === undefined) return 'no value'
  const column = `best.${name}`
  const rows = await readBatches(sql, ANONYMOUS, [shown.batchKey])
  const found = (await presentColumns(sql, rows, [column], clockOf(services))).get(shown.batchKey)?.[column]
  if (found === undefined) return 'no value'
  return valueText(lessIsBetter(name) ? found.low : found.high)
}
