const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** The text for HTML, in elements and in quoted attributes. */
export const escapeHtml = (raw: string): string =>
  raw.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character)
