import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openSql } from '../../src/db/sql.ts'
import { randomFrom } from '../../src/domain/random.ts'
import { startTestApp } from '../kit/app.ts'
import { startGate } from '../kit/gate.ts'
import { createClient } from '../kit/http.ts'
import { openPair } from '../kit/standby.ts'
import { findLost, newLedger, sendRest, startLoad } from './ledger.ts'
import { until } from './server-process.ts'

// The primary dies under load and its synchronous standby takes over (docs/scaling.md). A process that is killed closes its
// connections; a machine that is gone leaves them open, and says nothing any more.

test.each([
  'process',
  'machine',
])('with several hosts in its URL the service continues with the standby when the primary’s %s is gone; nothing acknowledged is lost', async (what) => {
  const pair = await openPair()
  const gate = await startGate(pair.primary)
  const app = await startTestApp({
    databaseUrl: pair.both.replace(new URL(pair.primary).port, String(gate.port)),
    logLevel: 'error',
    rateLimit: { eventsPerS: 1e9, burst: 1e9 },
  })
  try {
    const { token: session } = await app.register()
    const token = await app.reporterToken(session)
    await pair.makeSynchronous()
    const ledger = newLedger()
    const load = startLoad(ledger, {
      address: app.address,
      token,
      round: 'r',
      draw: randomFrom(1),
      clients: 6,
    })
    await until(() => ledger.acknowledged.size > 1_000)
    load.expectFailures()
    if (what === 'machine') gate.silence()
    pair.killPrimary()
    await sleep(1_000)
    await pair.promote()
    const promoted = performance.now()
    const stored = ledger.acknowledged.size
    await until(() => ledger.acknowledged.size > stored + 100, 90_000)
    console.info(`events are taken again ${Math.round(performance.now() - promoted)} ms after the promotion`)
    await sleep(500)
    await load.stop()
    expect(ledger.wrong, app.logged()).toEqual([])
    await sendRest(ledger, { address: app.address, token })
    const sql = openSql(pair.standby, { name: 'test', max: 1 })
    expect(await findLost(sql, ledger)).toEqual([])
    await sql.end()
    // Reads of every kind: REST, GraphQL through its own client, background work.
    const http = createClient(app.address)
    await until(async () => (await http.call('GET', '/readyz')).status === 200, 30_000)
    expect((await http.call('GET', '/api/batches', { token: session })).status).toBe(200)
    const query = '{ batches(first: 5) { edges { node { id } } } }'
    await until(
      async () =>
        (await http.call('POST', '/graphql', { token: session, body: { query } })).body.errors === undefined,
      30_000,
    )
    await until(
      () =>
        app.runTask('prune_changes').then(
          () => true,
          () => false,
        ),
      30_000,
    )
    http.close()
  } finally {
    await app.stop()
    await pair.stop()
    await gate.shut()
  }
}, 180_000)
