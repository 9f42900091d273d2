import { expect, test } from 'vitest'
import type { Step } from '../../web/src/lib/api/control.ts'
import { stepText } from '../../web/src/pages/batch/step-text.ts'

const text = (step: string, detail: Record<string, unknown> = {}, kind = 'batch') =>
  stepText({ step, detail, kind } as Step)

test('the timeline says what happened to a batch', () => {
  expect(text('began', { host: 'box7', n_total: 1200, rerun_of: 'night' })).toEqual({
    title: 'Batch started',
    note: 'on box7, 1,200 jobs planned, a rerun of night',
  })
  expect(text('began', { resumed: true }).title).toBe('Batch resumed by another process')
  expect(text('start_conflict').title).toBe('A later start with different settings was ignored')
  expect(text('ended', { status: 'failed', failure_reason: 'out of memory' })).toMatchObject({
    title: 'Batch failed',
    bad: true,
  })
  expect(text('edited', { fields: ['tags', 'notes'], tags: ['a', 'b'] })).toEqual({
    title: 'Tags and notes changed',
    note: 'tags: a, b',
  })
})

test('steps of a stop and of a rerun name which of them it is', () => {
  expect(text('requested', { jobs: 'failed', overridden: ['command', 'cwd'] }, 'rerun')).toEqual({
    title: 'Rerun requested',
    note: 'failed, lost and missing jobs only, with another command and cwd',
  })
  expect(text('delivered', {}, 'stop').title).toBe('The agent has the stop command')
  expect(text('failed', {}, 'rerun')).toMatchObject({ title: 'Rerun failed', bad: true })
  expect(text('sigkill', {}, 'stop')).toEqual({ title: 'SIGKILL sent to the process', bad: true })
})

test('sweeps, links, agents and mail have their steps, and unknown ones are readable', () => {
  expect(text('sweep_extended', { max_trials: null }).title).toBe('Sweep without a limit from now on')
  expect(text('shared', { anonymous: true }).note).toBe('names, host, paths and log hidden')
  expect(text('agent_registered', { hostname: 'box7', rotated: true }).title).toBe(
    'The agent on box7 registered again',
  )
  expect(text('mail_refused', { recipients: 2, trigger: 'job_failed', rule: 'job_failed' })).toMatchObject({
    note: 'on job failed',
    bad: true,
  })
  expect(text('a_new_step').title).toBe('a new step')
})
