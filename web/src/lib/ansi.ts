/** Terminal colours as CSS classes. The text is never interpreted as HTML. */
export interface AnsiSegment {
  text: string
  className: string
}
const COLOURS = [
  '',
  'text-failed',
  'text-completed',
  'text-amber',
  'text-running',
  'text-accent',
  'text-running',
  '',
]
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const ESCAPE = /\u001b\[([\d;]*)([A-Za-z])/g
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters left in the text are meaningless to users
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g

export function ansiSegments(line: string): AnsiSegment[] {
  if (!line.includes('\u001b')) return [{ text: line.replace(CONTROL, ''), className: '' }]
  const pieces: AnsiSegment[] = []
  let colour = ''
  let bold = false
  let from = 0
  const add = (text: string): void => {
    const shown = text.replace(CONTROL, '')
    if (shown !== '')
      pieces.push({ text: shown, className: `${colour} ${bold ? 'font-semibold' : ''}`.trim() })
  }
  for (const match of line.matchAll(ESCAPE)) {
    add(line.slice(from, match.index))
    from = match.index + match[0].length
    if (match[2] !== 'm') continue
    for (const code of (match[1] || '0').split(';').map(Number)) {
      if (code === 0) {
        colour = ''
        bold = false
      } else if (code === 1) bold = true
      else if (code === 22) bold = false
      else if (code === 39) colour = ''
      else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) colour = COLOURS[code % 10] ?? ''
    }
  }
  add(line.slice(from))
  return pieces
}
