import { type Fields, flag, instant, nullable, person, text, uuid, type ViewOf, word } from '../field.ts'

/** The fields of a public link in the list of a project, for those who administer it: never its token. */
export const projectLinkFields = {
  id: { type: uuid, public: 'hidden' },
  opened: {
    type: word(['batch', 'report']),
    means:
      'batch: revoke it by DELETE /api/shares/{id}; report: by DELETE /api/reports/{report_id}/links/{id}',
    public: 'hidden',
  },
  batch_id: { type: nullable(text), means: 'Of a link to a batch', public: 'hidden' },
  report_id: { type: nullable(text), means: 'Of a link to a report', public: 'hidden' },
  title: { type: text, means: 'The name or id of the batch, or the title of the report', public: 'hidden' },
  anonymous: { type: flag, means: 'Hides user, host, paths and log lines', public: 'hidden' },
  embed: { type: flag, means: 'Whether other sites may show it (docs/embeds.md)', public: 'hidden' },
  created_by: { type: person, public: 'hidden' },
  creator_disabled: {
    type: flag,
    means: 'Whether the account of its creator is disabled: until it is enabled, the link does not open',
    public: 'hidden',
  },
  opens: {
    type: flag,
    means: 'Whether the link opens now: it has not ended, and its creator may still share what it opens',
    public: 'hidden',
  },
  created_at: { type: instant, public: 'hidden' },
  expires_at: { type: nullable(instant), means: 'Null: never', public: 'hidden' },
} as const satisfies Fields

/** A public link in the API. */
export type ProjectLink = ViewOf<typeof projectLinkFields>
