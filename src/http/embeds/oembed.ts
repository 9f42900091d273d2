import { z } from 'zod'
import { escapeHtml } from '../../domain/escape-html.ts'
import { openReport } from '../../domain/reports/index.ts'
import { Problem } from '../../problem.ts'
import type { Services } from '../../services.ts'
import { numberText } from '../request/number-text.ts'
import { publicAddress } from '../request/public-address.ts'
import type { Routes } from '../request/routes.ts'
import { embeddedBatch, titleOf } from './shown-batch.ts'

const SIZE = { width: 680, height: 400 }

/** oEmbed 1.0: the frame for the address of a link. */
export function oembedRoute(routes: Routes, services: Services): void {
  const { config, sql, now } = services
  routes.get(
    '/api/oembed',
    {
      schema: {
        tags: ['embeds'],
        summary: 'oEmbed: the frame that shows a public link on another site',
        security: [],
        querystring: z.strictObject({
          url: z.string().max(2_048).describe('The address of a public link, /s/… or /sr/…'),
          maxwidth: numberText(z.int().min(200).max(10_000)).optional(),
          maxheight: numberText(z.int().min(120).max(10_000)).optional(),
          format: z.literal('json').optional(),
        }),
        response: {
          200: z.object({
            version: z.literal('1.0'),
            type: z.literal('rich'),
            title: z.string(),
            provider_name: z.string(),
            provider_url: z.string(),
            html: z.string(),
            width: z.int(),
            height: z.int(),
            cache_age: z.int(),
          }),
        },
      },
    },
    async (request, reply) => {
      const home = publicAddress(config, request)
      const { url, maxwidth = SIZE.width, maxheight = SIZE.height } = request.query
      const [width, height] = [Math.min(maxwidth, SIZE.width), Math.min(maxheight, SIZE.height)]
      const [, kind, token = ''] = url.startsWith(home)
        ? (/^\/(s|sr)\/([A-Za-z0-9_-]{32})(?:[/?#]|$)/.exec(url.slice(home.length)) ?? [])
        : []
      if (kind === undefined) throw new Problem('share_not_found')
      let title: string
      if (kind === 's') {
        title = titleOf(await embeddedBatch(services, token))
      } else {
        const report = await openReport(sql, token, now())
        if (report === undefined) throw new Problem('share_not_found')
        if (!report.embed) throw new Problem('embed_not_allowed')
        title = report.title
      }
      const size =
        kind === 's' ? `?width=${Math.max(200, width - 24)}&height=${Math.max(120, height - 60)}` : ''
      const source = `${home}/api/${kind === 's' ? 'shared' : 'shared-reports'}/${token}/embed${size}`
      reply.header('cache-control', 'public, max-age=60')
      return {
        version: '1.0' as const,
        type: 'rich' as const,
        title,
        provider_name: 'Experiment monitor',
        provider_url: home,
        html: `<iframe src="${escapeHtml(source)}" title="${escapeHtml(title)}" width="${width}" height="${height}" style="border:0" loading="lazy" sandbox="allow-scripts allow-popups allow-popups-to-escape-sandbox"></iframe>`,
        width,
        height,
        cache_age: 60,
      }
    },
  )
}
