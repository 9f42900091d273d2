import DOMPurify from 'dompurify'
import { Marked } from 'marked'

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

const escaped = (text: string): string => text.replace(/[&<>"]/g, (one) => ESCAPES[one] ?? one)

/** GitHub-flavoured Markdown in which single line breaks count. HTML is shown as text: notes need only Markdown. */
const markdown = new Marked({
  breaks: true,
  gfm: true,
  renderer: {
    html: ({ text }) => escaped(text),
    checkbox: ({ checked }) => (checked ? '☑ ' : '☐ '),
    // An image would be loaded from another server and reveal the reader to it.
    image: ({ href, text }) => {
      const label = escaped(text || href)
      return URL.canParse(href) ? `<a href="${escaped(href)}">${label}</a>` : label
    },
  },
})

/**
 * Renders Markdown as elements, without scripts or anything that loads. This module is imported only where there are
 * notes.
 */
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
