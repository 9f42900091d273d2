import { z } from 'zod'
import { type Fields, id, instant, json, nullable, own, type ViewOf, word } from '../field.ts'
import { COMMAND_KINDS, STEPS } from './agent.ts'

/** Steps of the batch itself, besides those of its stops and reruns. */
const HISTORY = [
  'began',
  'ended',
  'edited',
  'deleted',
  'restored',
  'shared',
  'share_revoked',
  'mail_sent',
  'mail_unknown',
  'mail_refused',
  'mail_logged',
  'agent_registered',
  'agent_revoked',
  'start_conflict',
  'sweep_created',
  'sweep_paused',
  'sweep_resumed',
  'sweep_extended',
  'sweep_edited',
  'sweep_queued',
  'sweep_stopped',
  'sweep_workers_started',
] as const

const text = z.string().nullable()

/** The fields of a step of a batch's timeline (contract §4). None is visible to visitors. */
export const stepFields = {
  at: { type: instant, public: 'hidden' },
  step: { type: word([...STEPS, ...HISTORY]), public: 'hidden' },
  kind: {
    type: word([...COMMAND_KINDS, 'batch', 'share', 'agent', 'mail', 'sweep']),
    means: 'stop, rerun, batch, share, agent, mail or sweep',
    public: 'hidden',
  },
  cmd_id: {
    type: nullable(id),
    means: 'Null for steps without an agent command, such as the end of the batch',
    public: 'hidden',
  },
  actor: {
    type: own(z.object({ kind: z.enum(['user', 'agent', 'reporter', 'service']), id: text, name: text })),
    public: 'hidden',
  },
  detail: { type: json, public: 'hidden' },
} as const satisfies Fields

/** A step in the API. */
export type StepView = ViewOf<typeof stepFields>
