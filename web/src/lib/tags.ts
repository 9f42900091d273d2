/** Tags in one field: separated by commas or spaces; a tag with a space in it is in quotation marks. */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/"([^"]*)"|[^\s,"]+/g)]
      .map(([whole, quoted]) => (quoted ?? whole).trim())
      .filter(Boolean),
  ),
]

/** The same tags as text for that field. A tag with a quotation mark cannot be written there and loses it. */
export const tagsText = (tags: readonly string[]): string =>
  tags.map((tag) => (/[\s,]/.test(tag) ? `"${tag.replaceAll('"', '')}"` : tag.replaceAll('"', ''))).join(' ')

export interface TagChange {
  add: readonly string[]
  drop: readonly string[]
}

/** The tags after the change, each once. */
export const withTags = (tags: readonly string[], { add, drop }: TagChange): string[] => [
  ...new Set([...tags.filter((tag) => !drop.includes(tag)), ...add]),
]
