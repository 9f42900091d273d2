import { z } from 'zod'
import {
  type Fields,
  flag,
  instant,
  jsonOf,
  nullable,
  person,
  text,
  uuid,
  type ViewOf,
  word,
} from '../field.ts'

/** Who a saved view is for: its user; everybody who sees the project; and in place of the project's plain page. */
export const AUDIENCES = ['private', 'project', 'default'] as const
export type Audience = (typeof AUDIENCES)[number]

/** Colors that the user chose: id of a job → place in the palette. */
export const chosenColors = z.record(z.string().max(256), z.int().min(0).max(63))

/** The fields of a saved view: a page's URL under a name, with the colors that no URL says. */
export const savedViewFields = {
  id: { type: uuid, column: 'id', public: 'shown' },
  title: { type: text, means: 'Its name', column: 'title', public: 'shown' },
  path: {
    type: text,
    means: 'Path and query of the page, starting with /',
    column: 'path',
    public: 'shown',
  },
  project: {
    type: nullable(text),
    means: 'Slug; null for a view that belongs to no project',
    public: 'shown',
  },
  audience: {
    type: word(AUDIENCES),
    means:
      "private: only its creator; project: everyone who can see the project; default: also the initial view of the project's page",
    column: 'audience',
    public: 'shown',
  },
  colors: {
    type: jsonOf(chosenColors),
    means: 'Job id → index in the palette',
    column: 'colors',
    public: 'shown',
  },
  owner: {
    type: nullable(person),
    means: 'Who saved it; null for callers without an account',
    public: 'hidden',
  },
  can_edit: { type: flag, means: 'Whether the caller may change and delete it', public: 'hidden' },
  created_at: { type: instant, column: 'created_at', public: 'shown' },
  updated_at: { type: instant, means: 'When it was last changed', column: 'updated_at', public: 'shown' },
} as const satisfies Fields

/** A saved view on the wire. */
export type SavedView = ViewOf<typeof savedViewFields>
