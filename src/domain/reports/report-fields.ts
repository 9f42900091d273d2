import { type Fields, flag, instant, nullable, person, text, uuid, type ViewOf } from '../field.ts'

/** The fields of a report. */
export const reportFields = {
  id: { type: uuid, column: 'id', public: 'shown' },
  title: { type: text, means: 'Its title', column: 'title', public: 'shown' },
  body: {
    type: text,
    means:
      'Markdown; a line `@batch(id)`, `@chart(id, series)`, `@media(id, key)`, `@jobs(id)` or `@sweep(id)` embeds a run',
    column: 'body',
    public: 'shown',
  },
  project: { type: text, means: 'Slug', public: 'shown' },
  owner: {
    type: nullable(person),
    means: 'Its author; null for callers without an account',
    public: 'hidden',
  },
  can_edit: { type: flag, means: 'Whether the caller may change it', public: 'hidden' },
  can_share: {
    type: flag,
    means: 'Whether the caller may create and revoke links to it, and delete it',
    public: 'hidden',
  },
  shared: { type: flag, means: 'Whether a public link opens it', public: 'hidden' },
  created_at: { type: instant, column: 'created_at', public: 'shown' },
  updated_at: { type: instant, means: 'When it was last changed', column: 'updated_at', public: 'shown' },
} as const satisfies Fields

/** A report in the API. */
export type Report = ViewOf<typeof reportFields>

const EMBEDDED = /^@(?:batch|chart|jobs|media|sweep)\(\s*(?:"([^"\n]+)"|([^,)\n"]+))/gm
/** A block of code embeds nothing (web/src/lib/report-blocks.ts). */
const CODE = /^[ \t]*(```|~~~)[\s\S]*?^[ \t]*\1/gm
const MAX_EMBEDDED = 50

/** The ids of the batches that a report embeds, each once, in order. */
export const embeddedBatches = (body: string): string[] =>
  [
    ...new Set(
      [...body.replace(CODE, '').matchAll(EMBEDDED)].map(([, quoted, plain = '']) => quoted ?? plain.trim()),
    ),
  ].slice(0, MAX_EMBEDDED)
