import { type Fields, flag, instant, nullable, person, serial, text, texts, type ViewOf } from '../field.ts'

/** The most characters of a comment. */
export const MAX_COMMENT = 10_000

/** The fields of a comment. */
export const commentFields = {
  id: { type: serial, column: 'id', public: 'shown' },
  body: {
    type: text,
    means: 'Markdown; `@Name` mentions a person who sees the project',
    column: 'body',
    public: 'shown',
  },
  author: {
    type: nullable(person),
    means: 'Who wrote it; null for callers without an account, and for people outside of the project',
    public: 'hidden',
  },
  mentions: {
    type: texts,
    means: 'The names of the people whom it mentions; empty where the author is null',
    public: 'hidden',
    graphql: null,
  },
  can_edit: { type: flag, means: 'Whether the caller may change its text', public: 'hidden' },
  can_delete: { type: flag, means: 'Whether the caller may delete it', public: 'hidden' },
  created_at: { type: instant, column: 'created_at', public: 'shown' },
  edited_at: {
    type: nullable(instant),
    means: 'When its text was last changed',
    column: 'edited_at',
    public: 'shown',
  },
} as const satisfies Fields

/** A comment in the API. */
export type Comment = ViewOf<typeof commentFields>
