const ESCAPES: Record<string, string> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
/** Escapes text for HTML elements and quoted attributes. */
export const escapeHtml = (raw: string): string =>
  raw.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? character)
