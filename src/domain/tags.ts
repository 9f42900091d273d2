import { Problem } from '../problem.ts'

/** The most tags that a batch or job may have. */
export const MAX_TAGS = 100

/** How a user changes tags; undefined fields change nothing. */
export interface TagEdit {
  /** Replaces all tags. */
  tags?: readonly string[] | undefined
  /** Adds and removes single ones, so that several people who edit at the same time do not undo each other's edits. */
  add_tags?: readonly string[] | undefined
  remove_tags?: readonly string[] | undefined
}

export const changesTags = ({ tags, add_tags, remove_tags }: TagEdit): boolean =>
  [tags, add_tags, remove_tags].some((list) => list !== undefined)

/**
 * The tags after the edit, each once.
 * @param before the stored tags, read under the lock of the batch
 * @throws Problem invalid_body if there are too many
 */
export function editedTags(before: readonly string[], edit: TagEdit): string[] {
  const removed = new Set(edit.remove_tags)
  const kept = (edit.tags ?? before).filter((tag) => !removed.has(tag))
  const tags = [...new Set([...kept, ...(edit.add_tags ?? [])])]
  if (tags.length > MAX_TAGS) {
    const message = `must leave at most ${MAX_TAGS} tags: these would be ${tags.length}`
    throw new Problem('invalid_body', { errors: [{ path: 'add_tags', message }] })
  }
  return tags
}
