// The search of the documentation site: over the sections of all pages, in the browser, loaded with the first key.
import MiniSearch from './minisearch.js'

const root = new URL('./', import.meta.url)
const input = document.querySelector('.search input')
const list = document.querySelector('.search ol')
let loading

/** The index, fetched once. */
function index() {
  loading ??= fetch(new URL('search.json', root))
    .then((answer) => answer.json())
    .then((sections) => {
      const search = new MiniSearch({
        fields: ['section', 'page', 'text'],
        storeFields: ['page', 'section', 'text'],
        searchOptions: { boost: { section: 4, page: 2 }, prefix: true, fuzzy: 0.15, combineWith: 'AND' },
      })
      search.addAll(sections)
      return search
    })
  return loading
}

async function show() {
  const wanted = input.value.trim()
  const found = wanted === '' ? [] : (await index()).search(wanted).slice(0, 12)
  if (input.value.trim() !== wanted) return // typed on meanwhile
  const items = found.map(({ id, page, section, text, terms }) => {
    const link = document.createElement('a')
    link.href = new URL(id, root).href
    const title = document.createElement('b')
    title.textContent = section === page ? page : `${page} › ${section}`
    const line = document.createElement('span')
    line.textContent = excerpt(text, terms)
    link.append(title, line)
    const item = document.createElement('li')
    item.append(link)
    return item
  })
  if (wanted !== '' && items.length === 0) {
    const item = document.createElement('li')
    item.textContent = 'Nothing found'
    items.push(item)
  }
  list.replaceChildren(...items)
  list.hidden = wanted === ''
}

/** The words around the first hit. */
function excerpt(text, terms) {
  const lower = text.toLowerCase()
  const at = Math.min(...terms.map((term) => lower.indexOf(term)).filter((place) => place >= 0))
  const from = Number.isFinite(at) ? Math.max(0, at - 40) : 0
  return (from > 0 ? '… ' : '') + text.slice(from, from + 140)
}

input.addEventListener('input', show)
input.addEventListener('focus', () => void index())
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault()
    input.focus()
  }
  if (event.key === 'Escape') list.hidden = true
  const links = [...list.querySelectorAll('a')]
  if (links.length === 0 || list.hidden) return
  const at = links.indexOf(document.activeElement)
  const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
  if (step === 0 || (at < 0 && document.activeElement !== input)) return
  event.preventDefault()
  const next = links[at + step]
  if (next === undefined) input.focus()
  else next.focus()
})
document.addEventListener('click', (event) => {
  if (!event.target.closest('.search')) list.hidden = true
})
// On a narrow screen the list of pages starts closed.
if (matchMedia('(max-width: 900px)').matches) document.querySelector('nav details').open = false
