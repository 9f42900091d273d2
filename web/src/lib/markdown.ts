import DOMPurify from 'dompurify'
import { marked } from 'marked'

/**
 * A Markdown text (GitHub's flavour; a single line break counts) as elements, without anything that acts or loads: scripts,
 * styles, forms, frames, images. Its code is loaded only where there are notes.
 */
export function markdownElements(text: string): DocumentFragment {
  const html = marked.parse(text, { async: false, breaks: true, gfm: true })
  const clean = DOMPurify.sanitize(html, {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['style', 'img', 'picture', 'audio', 'video', 'form', 'button', 'textarea', 'select'],
    FORBID_ATTR: ['style', 'class', 'id', 'name'],
    RETURN_DOM_FRAGMENT: true,
  })
  for (const link of clean.querySelectorAll('a')) {
    link.target = '_blank'
    link.rel = 'noopener noreferrer nofollow'
  }
  return clean
}
