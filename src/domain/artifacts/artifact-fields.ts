import { z } from 'zod'
import {
  type Fields,
  flag,
  instant,
  int,
  json,
  jsonOf,
  nullable,
  own,
  person,
  shapeOf,
  text,
  texts,
  type ViewOf,
  word,
} from '../field.ts'

/** Artifacts in the API, their versions, and what these are made of and used for (contract §11 "Artifacts"). */

const named = { name: { type: text, public: 'shown' }, type: { type: text, public: 'shown' } } as const

export const summaryFields = {
  ...named,
  versions: { type: int, public: 'shown' },
  latest: { type: nullable(text), public: 'shown' },
  aliases: {
    type: jsonOf(z.record(z.string(), z.string())),
    means: 'The version that each alias points to',
    public: 'shown',
  },
  size: { type: int, means: 'Bytes of the newest version', public: 'shown' },
  created_at: { type: instant, public: 'shown' },
  updated_at: { type: instant, public: 'shown' },
} as const satisfies Fields

const content = {
  version: { type: text, public: 'shown' },
  digest: { type: text, public: 'shown' },
  state: { type: word(['pending', 'ready']), public: 'shown' },
  aliases: { type: texts, public: 'shown' },
  size: { type: int, public: 'shown' },
  files: { type: int, means: 'Number of files', public: 'shown' },
  metadata: { type: json, public: 'shown' },
} as const satisfies Fields

export const versionFields = {
  ...content,
  batch_id: { type: nullable(text), means: 'The batch that created it', public: 'shown' },
  job_id: { type: nullable(text), public: 'shown' },
  created_at: { type: instant, public: 'shown' },
  created_by: { type: nullable(person), public: 'shown' },
  used_by: { type: int, means: 'Number of batches that used it', public: 'shown' },
} as const satisfies Fields

export const artifactFileFields = {
  path: { type: text, public: 'shown' },
  sha256: { type: text, public: 'shown' },
  size: { type: int, public: 'shown' },
  media_type: { type: text, public: 'shown' },
  uploaded: { type: flag, public: 'shown' },
  url: { type: nullable(text), public: 'shown' },
} as const satisfies Fields

/** One version with its files. */
export const wholeVersionFields = {
  ...named,
  ...versionFields,
  files: { type: own(z.array(shapeOf(artifactFileFields))), public: 'shown' },
} as const satisfies Fields

/** The answer to a new version. */
export const madeFields = {
  ...named,
  version: { type: text, means: 'Such as v0', public: 'shown' },
  digest: { type: text, public: 'shown' },
  state: { ...content.state, means: '`pending` until all of its content has arrived' },
  uploads: {
    type: own(
      z.array(z.object({ path: z.string(), sha256: z.string(), size: z.int(), upload_url: z.string() })),
    ),
    means: 'The content that is missing',
    public: 'shown',
  },
} as const satisfies Fields

/** A version that a batch made or used. */
export const batchArtifactFields = {
  relation: { type: word(['made', 'used']), public: 'shown' },
  ...named,
  ...content,
  job_id: {
    type: nullable(text),
    means: 'The first job that created or used it; null for the batch as a whole',
    public: 'shown',
  },
  at: { type: instant, means: 'When the batch first created or used it', public: 'shown' },
} as const satisfies Fields

/** A move of an alias. */
export const moveFields = {
  alias: { type: text, public: 'shown' },
  version: { type: nullable(text), means: 'Null: it was removed', public: 'shown' },
  from: { type: nullable(text), means: 'Null: it did not exist', public: 'shown' },
  at: { type: instant, public: 'shown' },
  by: { type: nullable(person), means: 'Null: the service, for `latest`', public: 'shown' },
  comment: { type: nullable(text), public: 'shown' },
} as const satisfies Fields

const version = { name: z.string(), version: z.string() }
const maker = { batch_id: z.string(), job_id: z.string().nullable() }

export const lineageFields = {
  artifact: { type: own(z.object(version)), public: 'shown' },
  made_by: {
    type: nullable(own(z.object(maker))),
    means: 'The first of the batches that created it and still exist',
    public: 'shown',
  },
  used_by: { type: own(z.array(z.object({ ...maker, at: instant.shape }))), public: 'shown' },
  inputs: {
    type: own(z.array(z.object(version))),
    means: 'What the batch that created it used',
    public: 'shown',
  },
  outputs: {
    type: own(z.array(z.object({ ...version, batch_id: z.string() }))),
    means: 'What the batches that used it created',
    public: 'shown',
  },
} as const satisfies Fields

export type ArtifactSummary = ViewOf<typeof summaryFields>
export type VersionView = ViewOf<typeof versionFields>
export type ArtifactFile = Omit<ViewOf<typeof artifactFileFields>, 'url'>
export type MadeVersion = ViewOf<typeof madeFields>
export type BatchArtifact = ViewOf<typeof batchArtifactFields>
export type AliasMove = ViewOf<typeof moveFields>
export type Lineage = ViewOf<typeof lineageFields>
