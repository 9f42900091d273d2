import { z } from 'zod'
import {
  type Fields,
  float,
  id,
  ids,
  instant,
  int,
  nullable,
  own,
  person,
  text,
  texts,
  type ViewOf,
  word,
} from '../field.ts'
import { COMMAND_KINDS, COMMAND_STATES } from './agent.ts'

/** The fields of a command (specification §2.3 "Agent command"). None is visible to visitors. */
export const commandFields = {
  cmd_id: { type: id, public: 'hidden' },
  kind: { type: own(z.enum(COMMAND_KINDS)), column: 'kind', public: 'hidden' },
  state: { type: own(z.enum(COMMAND_STATES)), column: 'state', public: 'hidden' },
  batch_id: { type: id, means: 'The batch of the command', public: 'hidden' },
  linked_batch_ids: { type: ids, means: "Batches that the rerun's process reports", public: 'hidden' },
  host_id: { type: id, public: 'hidden' },
  hostname: { type: text, public: 'hidden' },
  // It may contain a secret.
  command: {
    type: nullable(text),
    means: '`[redacted]` for everyone but the owner of the batch',
    column: 'command',
    public: 'hidden',
  },
  cwd: { type: nullable(text), column: 'cwd', public: 'hidden' },
  authorized_by: {
    type: word(['record', 'owner_words']),
    means:
      '`record`: the host must have a record of the run; `owner_words`: the signed-in owner entered the command',
    column: 'authorized_by',
    public: 'hidden',
  },
  overridden: {
    type: texts,
    means: 'Fields of the record that the owner changed: command, cwd',
    column: 'overridden',
    public: 'hidden',
  },
  jobs: {
    type: nullable(word(['all', 'failed'])),
    means: 'For a rerun: `all`, or `failed` for jobs that failed, were lost or are missing',
    column: 'jobs',
    public: 'hidden',
  },
  pid: { type: nullable(float), column: 'pid', public: 'hidden' },
  exit_code: { type: nullable(int), column: 'exit_code', public: 'hidden' },
  failure_reason: { type: nullable(text), column: 'failure_reason', public: 'hidden' },
  output_tail: {
    type: nullable(text),
    means: "The last part of the process's output, once it has ended",
    column: 'output_tail',
    public: 'hidden',
  },
  requested_by: {
    type: nullable(person),
    public: 'hidden',
  },
  created_at: { type: instant, column: 'created_at', public: 'hidden' },
  acked_at: { type: nullable(instant), column: 'acked_at', public: 'hidden' },
  finished_at: { type: nullable(instant), column: 'finished_at', public: 'hidden' },
} as const satisfies Fields

/** A command in the API. */
export type CommandView = ViewOf<typeof commandFields>
