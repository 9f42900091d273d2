/**
 * Parses tags from one text field: separated by commas or spaces; tags with spaces are quoted, and quotation marks in
 * quoted tags are doubled.
 */
export const tagsIn = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/"((?:[^"]|"")*)"|[^\s,"]+/g)]
      .map(([whole, quoted]) => (quoted?.replaceAll('""', '"') ?? whole).trim())
      .filter(Boolean),
  ),
]

/** Formats tags for that field. */
export const tagsText = (tags: readonly string[]): string =>
  tags.map((tag) => (/[\s,"]/.test(tag) ? `"${tag.replaceAll('"', '""')}"` : tag)).join(' ')

export interface TagChange {
  add: readonly string[]
  drop: readonly string[]
}

/** The tags after the change, without duplicates. */
export const withTags = (tags: readonly string[], { add, drop }: TagChange): string[] => [
  ...new Set([...tags.filter((tag) => !drop.includes(tag)), ...add]),
]

/** What the service is asked for: it keeps the tags that others add meanwhile. */
export interface TagBody {
  add_tags?: string[]
  remove_tags?: string[]
}

export const tagBody = ({ add, drop }: TagChange): TagBody => ({
  ...(add.length > 0 && { add_tags: [...add] }),
  ...(drop.length > 0 && { remove_tags: [...drop] }),
})

/** The change that leads from one list of tags to another. */
export const tagsChanged = (from: readonly string[], to: readonly string[]): TagChange => ({
  add: to.filter((tag) => !from.includes(tag)),
  drop: from.filter((tag) => !to.includes(tag)),
})
