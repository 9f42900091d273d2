import type { Plugin } from 'vite'

const SERVICE = 'Experiment monitor'

type Preview = [title: string, description: string]
const HOME: Preview = [SERVICE, 'Training runs, live.']
/** By file. They say what kind of page a link leads to, and nothing that is on it. */
const LINKS: Record<string, Preview> = {
  'index-b.html': [`Batch · ${SERVICE}`, 'A batch of training runs. Open the link to see it.'],
  'index-p.html': [`Project · ${SERVICE}`, 'A project of training runs. Open the link to see it.'],
  'index-s.html': [`Shared batch · ${SERVICE}`, 'A batch of training runs was shared with you.'],
}

/** Writes index.html once for each kind of link, with the title and Open Graph tags of that kind (https://ogp.me). */
export const linkPreviews = (): Plugin => ({
  name: 'link-previews',
  apply: 'build',
  enforce: 'post',
  transformIndexHtml: (page) => page.replace('<!-- preview -->', headOf(HOME)),
  generateBundle(_options, bundle) {
    const page = bundle['index.html']
    if (page?.type !== 'asset') throw new Error('the build has no index.html')
    for (const [fileName, preview] of Object.entries(LINKS)) {
      const source = String(page.source)
        .replace(/<title>.*<\/title>/, `<title>${preview[0]}</title>`)
        .replace(headOf(HOME), headOf(preview))
      this.emitFile({ type: 'asset', fileName, source })
    }
  },
})

const headOf = ([title, description]: Preview): string =>
  [
    ...Object.entries({ title, description, site_name: SERVICE, type: 'website' }).map(
      ([name, value]) => `<meta property="og:${name}" content="${value}" />`,
    ),
    `<meta name="description" content="${description}" />`,
    '<meta name="twitter:card" content="summary" />',
  ].join('\n    ')
