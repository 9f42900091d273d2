import { type Fields, flag, instant, nullable, person, text, uuid, type ViewOf, word } from '../field.ts'

/** The fields of a public link in the list of a project, for those who administer it: never its token. */
export const projectLinkFields = {
  id: { type: uuid, public: 'hidden' },
  opened: {
    type: word(['batch', 'report']),
    means:
      'The target: revoke a link to a batch with DELETE /api/shares/{id}, to a report with DELETE /api/reports/{report_id}/links/{id}',
    public: 'hidden',
  },
  batch_id: { type: nullable(text), means: 'For a link to a batch', public: 'hidden' },
  report_id: { type: nullable(text), means: 'For a link to a report', public: 'hidden' },
  title: { type: text, means: 'The name or id of the batch, or the title of the report', public: 'hidden' },
  anonymous: { type: flag, means: 'Hides users, hosts, paths and log lines', public: 'hidden' },
  embed: { type: flag, means: 'Whether other sites may show it (docs/embeds.md)', public: 'hidden' },
  created_by: { type: person, public: 'hidden' },
  creator_disabled: {
    type: flag,
    means: 'Whether the account of its creator is disabled; the link does not work until it is enabled',
    public: 'hidden',
  },
  opens: {
    type: flag,
    means: 'Whether the link works now: it has not expired, and its creator may still share its target',
    public: 'hidden',
  },
  created_at: { type: instant, public: 'hidden' },
  expires_at: { type: nullable(instant), means: 'Null: never', public: 'hidden' },
} as const satisfies Fields

/** A public link in the API. */
export type ProjectLink = ViewOf<typeof projectLinkFields>
