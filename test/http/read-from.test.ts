import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { ANONYMOUS } from '../../src/domain/caller.ts'
import type { TelemetryPool } from '../../src/domain/telemetry.ts'
import { streamFrom } from '../../src/http/request/read-from.ts'

// Reads that fail at the replica; with a real standby: test/ops/read-replica.slow.test.ts.

const sql = { name: 'primary' } as unknown as TelemetryPool
const theirs = { name: 'replica' } as unknown as TelemetryPool

/** Reads three pieces; at the replica it fails after so many. */
async function read(error: unknown, after: number) {
  const failures: unknown[] = []
  const sent: Record<string, string> = {}
  const replica = {
    sql: theirs,
    hasCaughtUp: async () => true,
    failed: (cause: unknown) => void failures.push(cause),
    lag: async () => ({ bytes: 0, seconds: 0 }),
    counts: { replica: 0, primary: 0 },
    close: async () => {},
  }
  const reply = { header: (name: string, value: string) => Object.assign(sent, { [name]: value }) }
  const pieces = await streamFrom(
    { sql, visitorSql: sql, replica },
    { headers: {}, caller: async () => ANONYMOUS } as unknown as FastifyRequest,
    reply as unknown as FastifyReply,
    'replica',
    async function* (db) {
      for (let n = 0; n < 3; n++) {
        if (db === theirs && n === after) throw error
        yield `${db === sql ? 'primary' : 'replica'} ${n}`
      }
    },
  )
  const got: string[] = []
  const fault = await (async () => {
    for await (const piece of pieces) got.push(piece)
  })().catch((cause) => cause)
  return { got, fault, failures, counts: replica.counts, from: sent['x-svc-read-from'] }
}

const CONFLICT = Object.assign(new Error('canceling statement due to conflict with recovery'), {
  code: '40001',
})
const GONE = Object.assign(new Error('terminating connection'), { code: '57P01' })

test('a read that the replica aborts before its first part is read from the primary as a whole', async () => {
  const primary = { got: ['primary 0', 'primary 1', 'primary 2'], from: 'primary', fault: undefined }
  expect(await read(CONFLICT, 0)).toMatchObject({
    ...primary,
    failures: [],
    counts: { replica: 0, primary: 1 },
  })
  expect(await read(GONE, 0)).toMatchObject({
    ...primary,
    failures: [GONE],
    counts: { replica: 0, primary: 1 },
  })
})

test('a read that the replica aborts later ends with the error: parts of two servers are never mixed', async () => {
  expect(await read(CONFLICT, 2)).toMatchObject({
    got: ['replica 0', 'replica 1'],
    from: 'replica',
    fault: CONFLICT,
  })
})

test('a read that timed out or was refused for its values is not retried', async () => {
  for (const code of ['57014', '22003'])
    await expect(read(Object.assign(new Error('no'), { code }), 0)).rejects.toMatchObject({ code })
})
