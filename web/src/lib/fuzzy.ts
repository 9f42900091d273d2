import { itemAt } from './checked.ts'
/**
 * Scores how well `wanted` matches `text`: its letters must appear in order; the score is higher the closer they are
 * and the more of them start a word. 0 means no match.
 */
export function fuzzy(text: string, wanted: string): number {
  const [hay, needle] = [text.toLowerCase(), wanted.toLowerCase().replace(/\s+/g, '')]
  if (needle === '') return 1
  const whole = hay.indexOf(wanted.toLowerCase().trim())
  if (whole >= 0)
    return 1000 - Math.min(whole, 100) - Math.min(hay.length, 200) / 10 + (startsWord(hay, whole) ? 200 : 0)
  let score = 0
  let at = -1
  for (const letter of needle) {
    const next = hay.indexOf(letter, at + 1)
    if (next < 0) return 0
    score += (next === at + 1 ? 5 : 1) + (startsWord(hay, next) ? 4 : 0)
    at = next
  }
  return score
}

const startsWord = (text: string, at: number): boolean => at === 0 || /[^a-z0-9]/.test(itemAt(text, at - 1))

/** The items with the highest scores, best first. */
export function bestFuzzy<T>(
  items: readonly T[],
  wanted: string,
  textOf: (item: T) => string,
  most: number,
): T[] {
  return items
    .map((item, i) => ({ item, i, score: fuzzy(textOf(item), wanted) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || a.i - b.i)
    .slice(0, most)
    .map(({ item }) => item)
}
