import { expect, test } from 'vitest'
import type { Job } from '../../web/src/lib/api/batches.ts'
import { needsOf } from '../../web/src/pages/home/needs.ts'

const NOW = Date.parse('2026-11-28T12:00:00Z')
const lost = (batch: string, id: string, minute: number): Job =>
  ({
    batch_id: batch,
    id,
    key: `${batch} ${id}`,
    status: 'lost',
    epochs: 3,
    started_at: '2026-11-28T11:00:00Z',
    ended_at: `2026-11-28T11:${String(minute).padStart(2, '0')}:00Z`,
  }) as Job
const needs = (lostJobs: readonly Job[]) =>
  needsOf({ batches: [], running: [], lostJobs, hosts: [] }, NOW).map(({ name, why, at }) => ({
    name,
    why,
    at,
  }))

test('the lost jobs of a batch need attention once', () => {
  expect(needs([lost('grid', 'a', 10), lost('other', 'x', 5), lost('grid', 'b', 20)])).toEqual([
    {
      name: 'grid',
      why: 'The batch ended and 2 jobs never reported their end; what they had sent is kept',
      at: '2026-11-28T11:20:00Z',
    },
    {
      name: 'other / x',
      why: 'The batch ended and this job never reported its end; 3 epochs, kept',
      at: '2026-11-28T11:05:00Z',
    },
  ])
})
