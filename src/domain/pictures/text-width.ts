import { GLYPHS } from './glyphs.ts'

/** Units of an em in the table of letters. */
export const EM = 200
interface Letter {
  advance: number
  /** Points x, y, x, y, … of each contour. */
  contours: Float32Array[]
}

/** For characters that the table does not have. */
const MISSING = '·'
const letters = new Map<string, Letter>(
  GLYPHS.map(({ character, advance, contours }) => [
    character,
    {
      advance,
      contours:
        contours === '' ? [] : contours.split(';').map((one) => Float32Array.from(one.split(/[ ,]/), Number)),
    },
  ]),
)

export function letterOf(character: string): Letter {
  const letter = letters.get(character) ?? letters.get(MISSING)
  if (letter === undefined) throw new Error('the table of letters is empty')
  return letter
}

/** The width of a text in pixels. */
export const textWidth = (text: string, size: number): number => {
  let units = 0
  for (const character of text) units += letterOf(character).advance
  return (units * size) / EM
}

/** The text, or its beginning with an ellipsis, within a width. */
export function fitText(text: string, size: number, width: number): string {
  if (textWidth(text, size) <= width) return text
  const characters = [...text]
  while (characters.length > 1 && textWidth(`${characters.join('')}…`, size) > width) characters.pop()
  return `${characters.join('')}…`
}
