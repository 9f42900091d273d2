// The frame around a page of the documentation site: navigation, contents, search. No inline script or style, because
// the service's content security policy allows none.
import { posix } from 'node:path'

/** @returns a whole document for a page that was rendered by scripts/docs.mjs */
export function documentOf({ place, title, html, headings, version, sections, previous, next }) {
  const root = '../'.repeat(place.split('/').length - 1)
  const to = (target) => posix.relative(posix.dirname(place), target)
  const whole = place === 'index.html' ? title : `${title} · Experiment monitor`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${whole}</title>
<link rel="icon" href="${root}favicon.svg">
<link rel="stylesheet" href="${root}style.css">
<script type="module" src="${root}search.js" data-root="${root}"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<a class="home" href="${to('index.html')}">Experiment monitor <span>${version}</span></a>
<div class="search" role="search">
<input type="search" placeholder="Search (press /)" aria-label="Search the documentation" autocomplete="off">
<ol hidden></ol>
</div>
<a href="${root}../">Open the service</a>
</header>
<nav aria-label="Pages">
<details open>
<summary>All pages</summary>
${sections.map((section) => navigation(section, place, root)).join('\n')}
</details>
</nav>
<main id="content">
${html}
<footer>
${previous === undefined ? '<span></span>' : `<a href="${to(previous.place)}" rel="prev">← ${previous.title}</a>`}
${next === undefined ? '' : `<a href="${to(next.place)}" rel="next">${next.title} →</a>`}
</footer>
</main>
${contents(headings)}
</body>
</html>
`
}

function navigation({ title, pages }, place, root) {
  const items = pages.map((page) => {
    // The service answers it beside /docs.
    if (page.link !== undefined) return `<li><a href="${root}..${page.link}">${page.title}</a></li>`
    const current = page.place === place ? ' aria-current="page"' : ''
    return `<li><a href="${posix.relative(posix.dirname(place), page.place)}"${current}>${page.title}</a></li>`
  })
  return `<h2>${title}</h2>\n<ul>\n${items.join('\n')}\n</ul>`
}

function contents(headings) {
  const shown = headings.filter(({ depth }) => depth === 2 || depth === 3)
  if (shown.length < 2) return ''
  const items = shown.map(
    ({ depth, id, title }) => `<li class="h${depth}"><a href="#${id}">${title}</a></li>`,
  )
  return `<aside aria-label="On this page"><h2>On this page</h2>\n<ul>\n${items.join('\n')}\n</ul></aside>`
}
