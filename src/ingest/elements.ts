const QUOTE = 34
const BACKSLASH = 92
const OPEN_ARRAY = 91
const OPEN_OBJECT = 123
const CLOSE_ARRAY = 93
const CLOSE_OBJECT = 125

/**
 * The text of each object in a JSON array of objects, as received: cutting it out costs a third of serializing the object
 * again.
 * @param text valid JSON: an array with nothing but objects
 */
export function textsOfObjects(text: string): string[] {
  const texts: string[] = []
  let depth = 0
  let begun = 0
  for (let at = 0; at < text.length; at++) {
    const character = text.charCodeAt(at)
    if (character === QUOTE) {
      for (at++; text.charCodeAt(at) !== QUOTE; at++) if (text.charCodeAt(at) === BACKSLASH) at++
    } else if (character === OPEN_OBJECT || character === OPEN_ARRAY) {
      if (depth === 1) begun = at
      depth++
    } else if (character === CLOSE_OBJECT || character === CLOSE_ARRAY) {
      depth--
      if (depth === 1) texts.push(text.slice(begun, at + 1))
    }
  }
  return texts
}
