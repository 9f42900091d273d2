#!/usr/bin/env node
// What `npm run build:docs` runs: makes the documentation site in dist/docs, which the service serves at /docs. The pages
// are the Markdown files that docs/site.json names, so the same text can be read in a checkout. `npm run build` and
// `npm start` run it too, the latter only when a page has changed.
//
//   node scripts/docs.mjs [--out FOLDER]
import { cpSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, posix, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import hljs from 'highlight.js/lib/common'
import { Marked } from 'marked'
import { eventReference } from './docs-events.mjs'
import { documentOf } from './docs-page.mjs'
import { DOCS_HASH, docsHash } from './fingerprint.mjs'

const ROOT = resolve(fileURLToPath(import.meta.url), '../..')
const OUT = join(ROOT, 'dist/docs')
/** Where pages go that are not below docs/. */
const PLACES = {
  'python/reporter/README.md': 'reference/python.html',
  'CHANGELOG.md': 'changelog.html',
}
/** What other files of the repository are on the site. */
const ELSEWHERE = {
  'README.md': 'index.html',
  'python/agent/README.md': 'agent.html',
  'bench/README.md': 'performance.html',
  'schemas/event_v1.json': 'schemas/event_v1.json',
}

/**
 * Builds the site: a folder of pages that refer to each other by relative addresses, with its own search. Two builds of
 * the same sources give the same bytes.
 * @returns the pages, in the order of the navigation, and what a reader could not follow or see
 */
export function buildDocs(out = OUT) {
  const { version } = JSON.parse(read('package.json'))
  const sections = readNavigation()
  const pages = sections.flatMap(({ pages }) => pages.filter(({ file }) => file !== undefined))
  const places = new Map(pages.map(({ file, place }) => [file, place]))
  const problems = []
  const rendered = pages.map((page) => ({ ...page, ...render(page, places, problems) }))
  checkAnchors(rendered, problems)
  rmSync(out, { recursive: true, force: true })
  for (const [i, page] of rendered.entries()) {
    const document = documentOf({
      ...page,
      version,
      sections,
      previous: rendered[i - 1],
      next: rendered[i + 1],
    })
    write(out, page.place, document)
  }
  write(out, 'search.json', JSON.stringify(rendered.flatMap(searchable)))
  cpSync(join(ROOT, 'docs/images'), join(out, 'images'), { recursive: true })
  for (const file of ['style.css', 'search.js'])
    cpSync(join(ROOT, 'scripts/docs-site', file), join(out, file))
  cpSync(join(ROOT, 'web/public/favicon.svg'), join(out, 'favicon.svg'))
  cpSync(join(ROOT, 'docs/llms.txt'), join(out, 'llms.txt'))
  cpSync(join(ROOT, 'schemas/event_v1.json'), join(out, 'schemas/event_v1.json'))
  // The page's own fonts, so that both look alike on every machine.
  for (const font of ['inter', 'jetbrains-mono'])
    cpSync(
      join(ROOT, `node_modules/@fontsource-variable/${font}/files/${font}-latin-wght-normal.woff2`),
      join(out, `fonts/${font}.woff2`),
    )
  const minisearch = createRequire(import.meta.url).resolve('minisearch')
  const module = readFileSync(join(dirname(minisearch), '../es/index.js'), 'utf8')
  write(out, 'minisearch.js', module.replace(/^\/\/# sourceMappingURL.*$/m, ''))
  if (out === OUT) writeFileSync(join(ROOT, DOCS_HASH), docsHash())
  return { pages: rendered.map(({ file, place, title }) => ({ file, place, title })), problems }
}

const read = (path) => readFileSync(join(ROOT, path), 'utf8')

function write(out, place, text) {
  const file = join(out, place)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** The sections of docs/site.json, each page with its file, place and title; `folder/*` is every page of a folder. */
function readNavigation() {
  return JSON.parse(read('docs/site.json')).map(({ title, pages }) => ({
    title,
    pages: pages
      .flatMap((page) =>
        typeof page === 'string' && page.endsWith('/*') ? filesOf(page.slice(0, -2)) : page,
      )
      .map((page) => (typeof page === 'string' ? pageOf(page) : page)),
  }))
}

const filesOf = (folder) =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => `${folder}/${name}`)

function pageOf(file) {
  const title = /^# (.+)$/m.exec(read(file))?.[1] ?? file
  const place = PLACES[file] ?? file.replace(/^docs\//, '').replace(/\.md$/, '.html')
  return { file, place, title: title.replace(/`/g, '') }
}

/** One page as HTML, with its headings and their texts for the search. */
function render({ file, place }, places, problems) {
  const headings = []
  const used = new Map()
  const here = posix.dirname(file)
  const relative = (target) => posix.relative(posix.dirname(place), target) || posix.basename(target)
  const text = read(file).replace('<!-- events -->', () =>
    eventReference(JSON.parse(read('schemas/event_v1.json'))),
  )
  const links = []
  const marked = new Marked({
    renderer: {
      heading({ tokens, depth }) {
        const html = this.parser.parseInline(tokens)
        const said = this.parser.parseInline(tokens, this.parser.textRenderer)
        const id = slugOf(unescapeHtml(said), used)
        headings.push({ depth, id, title: said })
        const link =
          depth === 1 ? '' : ` <a class="anchor" href="#${id}" aria-label="Link to this section">#</a>`
        return `<h${depth} id="${id}">${html}${link}</h${depth}>\n`
      },
      link({ href, tokens }) {
        const html = this.parser.parseInline(tokens)
        if (/^[a-z]+:/.test(href)) return `<a href="${href}" rel="noreferrer">${html}</a>`
        const [path, anchor] = href.split('#', 2)
        const target = path === '' ? file : posix.normalize(posix.join(here, path))
        const at = places.get(target) ?? ELSEWHERE[target] ?? folderOf(target, places)
        // A source file: it is in the repository, not on the site.
        if (at === undefined) return html
        links.push({ place: at, anchor })
        return `<a href="${path === '' ? '' : relative(at)}${anchor === undefined ? '' : `#${anchor}`}">${html}</a>`
      },
      image({ href, text }) {
        const target = posix.normalize(posix.join(here, href)).replace(/^docs\//, '')
        if (!target.startsWith('images/')) problems.push(`${file}: the image ${href} is not in docs/images`)
        return `<img src="${relative(target)}" alt="${escapeHtml(text)}" loading="lazy">`
      },
      code({ text, lang = '' }) {
        const [name = '', ...more] = lang.split(' ')
        const known = hljs.getLanguage(name) !== undefined
        const html = known ? hljs.highlight(text, { language: name }).value : escapeHtml(text)
        const file = /\bfile=(\S+)/.exec(more.join(' '))?.[1]
        const caption = file === undefined ? '' : `<figcaption>${escapeHtml(file)}</figcaption>`
        return `<figure class="code">${caption}<pre tabindex="0"><code>${html}\n</code></pre></figure>\n`
      },
    },
  })
  // Wide tables scroll by themselves, so that the page never does.
  const html = marked
    .parse(text)
    .replace(/<table>/g, '<div class="table" tabindex="0"><table>')
    .replace(/<\/table>/g, '</table></div>')
  return { html, headings, links }
}

/** A link to a folder leads to its first page. */
const folderOf = (target, places) =>
  [...places].find(([file]) => file.startsWith(`${target.replace(/\/$/, '')}/`))?.[1]

/** As GitHub makes them, so that an anchor works in both places. */
function slugOf(title, used) {
  const slug = title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
    .replace(/ /g, '-')
  const seen = used.get(slug) ?? 0
  used.set(slug, seen + 1)
  return seen === 0 ? slug : `${slug}-${seen}`
}

function checkAnchors(pages, problems) {
  const ids = new Map(pages.map(({ place, headings }) => [place, new Set(headings.map(({ id }) => id))]))
  for (const { file, links } of pages)
    for (const { place, anchor } of links)
      if (anchor !== undefined && ids.get(place)?.has(anchor) !== true)
        problems.push(`${file}: ${place} has no section #${anchor}`)
}

/** What the search finds: one entry for each section of a page. */
function searchable({ place, title, html }) {
  return html.split(/(?=<h[1-3] id=)/).flatMap((part) => {
    const heading = /^<h[1-3] id="([^"]+)">(.*?)(?: <a class="anchor".*?)?<\/h[1-3]>/s.exec(part)
    if (heading === null) return []
    const [whole, id, section] = heading
    return {
      id: `${place}#${id}`,
      page: title,
      section: plain(section),
      text: plain(part.slice(whole.length)).slice(0, 4_000),
    }
  })
}

const plain = (html) =>
  unescapeHtml(html.replace(/<a class="anchor".*?<\/a>/g, '').replace(/<[^>]+>/g, ' '))
    .replace(/\s+/g, ' ')
    .trim()

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&#x27;': "'", '&amp;': '&' }
const unescapeHtml = (text) => text.replace(/&(lt|gt|quot|#39|#x27|amp);/g, (entity) => ENTITIES[entity])
const escapeHtml = (text) =>
  text.replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c])

if (process.argv[1] && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))) {
  const { values } = parseArgs({ options: { out: { type: 'string' } } })
  const { problems } = buildDocs(values.out === undefined ? undefined : resolve(values.out))
  // A link that leads nowhere stops no server; test/docs/site.test.ts stops the change that broke it.
  for (const problem of problems) console.error(problem)
}
