import { z } from 'zod'
import {
  type Fields,
  instant,
  nullable,
  own,
  person,
  text,
  texts,
  uuid,
  type ViewOf,
  word,
} from '../field.ts'

export const ROLES = ['owner', 'member', 'viewer'] as const

/** The fields of a project (specification §2.3). Through a share only `slug` and `visibility` are read (graphql/project.ts). */
export const projectFields = {
  slug: { type: text, column: 'slug', public: 'shown' },
  display_name: { type: text, column: 'display_name', public: 'shown' },
  visibility: { type: own(z.enum(['private', 'public'])), column: 'visibility', public: 'shown' },
  owner: { type: person, public: 'shown' },
  role: { type: nullable(own(z.enum(ROLES))), means: "The caller's role in it", public: 'shown' },
  recipients: {
    type: texts,
    means: "Recipients of the project's mail; for its members",
    optional: true,
    public: 'hidden',
  },
  created_at: { type: instant, column: 'created_at', public: 'shown' },
} as const satisfies Fields

/** A project in the API. */
export type ProjectView = ViewOf<typeof projectFields>

/** The fields of a member of a project, or of an invited user. */
export const memberFields = {
  state: {
    type: word(['member', 'invited']),
    means: 'invited: not accepted yet',
    graphql: null,
    public: 'hidden',
  },
  invitation_id: {
    type: uuid,
    means: 'Of an invited user',
    optional: true,
    graphql: null,
    public: 'hidden',
  },
  user_id: { type: text, graphql: null, public: 'hidden' },
  name: { type: text, graphql: null, public: 'hidden' },
  email: { type: text, public: 'hidden' },
  role: { type: own(z.enum(ROLES)), public: 'hidden' },
  created_at: { type: instant, public: 'hidden' },
} as const satisfies Fields

/** A member in the API. */
export type MemberView = ViewOf<typeof memberFields>
