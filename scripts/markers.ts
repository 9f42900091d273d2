/** Replaces the text between the two markers of `name`. Throws if there are no markers. */
export function between(text: string, name: string, content: string): string {
  const [from, to] = [`<!-- generated: ${name} -->`, `<!-- end: ${name} -->`]
  const [start, end] = [text.indexOf(from), text.indexOf(to)]
  if (start < 0 || end < start) throw new Error(`there are no markers ${from} … ${to}`)
  return `${text.slice(0, start)}${from}\n${content}\n${text.slice(end)}`
}
