import DOMPurify from 'dompurify'
import { Marked } from 'marked'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => ESCAPES[one] ?? one)

/** GitHub's flavour; a single line break counts. HTML is text: users write Markdown, and nothing in notes needs more. */
const markdown = new Marked({
  breaks: true,
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // An image would be fetched from elsewhere, and tell its owner who reads this.
    image: ({ href, text }) => {
      const label = escaped(text || href)
      return URL.canParse(href) ? `<a href="${escaped(href)}">${label}</a>` : label
    },
  },
})

/** A Markdown text as elements, without anything that acts or loads. Its code is loaded only where there are notes. */
export function markdownElements(text: string): DocumentFragment {
  const clean = DOMPurify.sanitize(markdown.parse(text, { async: false }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: [
      'style',
      'img',
      'picture',
      'audio',
      'video',
      'form',
      'input',
      'button',
      'textarea',
      'select',
    ],
    FORBID_ATTR: ['style', 'class', 'id', 'name'],
    RETURN_DOM_FRAGMENT: true,
  })
  for (const link of clean.querySelectorAll('a')) {
    link.target = '_blank'
    link.rel = 'noopener noreferrer nofollow'
  }
  return clean
}
