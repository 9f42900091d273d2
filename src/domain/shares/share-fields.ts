import { type Fields, flag, instant, nullable, person, uuid, type ViewOf } from '../field.ts'

/** The fields of a share (specification §2.3 "Share"), for callers that may create one: never its token. */
export const shareFields = {
  id: { type: uuid, column: 'id', public: 'hidden' },
  anonymous: {
    type: flag,
    means: 'Hides users, hosts, paths and log lines',
    column: 'anonymous',
    public: 'hidden',
  },
  files: {
    type: flag,
    means: 'Whether it shows files and media',
    column: 'files',
    public: 'hidden',
  },
  embed: {
    type: flag,
    means: 'Whether other sites may show its charts, table and badge',
    column: 'embed',
    public: 'hidden',
  },
  created_by: { type: person, public: 'hidden' },
  creator_disabled: {
    type: flag,
    means: 'Whether the account of its creator is disabled; the link does not work until it is enabled',
    public: 'hidden',
  },
  opens: {
    type: flag,
    means: 'Whether the link works now: it has not expired, and its creator may still share the batch',
    public: 'hidden',
  },
  created_at: { type: instant, column: 'created_at', public: 'hidden' },
  expires_at: { type: nullable(instant), means: 'Null: never', column: 'expires_at', public: 'hidden' },
} as const satisfies Fields

/** A share in the API. */
export type ShareView = ViewOf<typeof shareFields>
