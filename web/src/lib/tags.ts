/** Parses tags from one text field: separated by commas or spaces; tags with spaces are quoted. */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/"([^"]*)"|[^\s,"]+/g)]
      .map(([whole, quoted]) => (quoted ?? whole).trim())
      .filter(Boolean),
  ),
]

/** Formats tags for that field. Quotation marks within tags are dropped, because the field cannot express them. */
export const tagsText = (tags: readonly string[]): string =>
  tags.map((tag) => (/[\s,]/.test(tag) ? `"${tag.replaceAll('"', '')}"` : tag.replaceAll('"', ''))).join(' ')

export interface TagChange {
  add: readonly string[]
  drop: readonly string[]
}

/** The tags after the change, without duplicates. */
export const withTags = (tags: readonly string[], { add, drop }: TagChange): string[] => [
  ...new Set([...tags.filter((tag) => !drop.includes(tag)), ...add]),
]
