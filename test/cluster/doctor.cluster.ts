import { randomBytes } from 'node:crypto'
import { afterAll, expect, inject, test } from 'vitest'
import { checkCluster } from '../../src/cli/cluster-check.ts'
import { openSql } from '../../src/db/sql.ts'
import { addressOf, createOnCluster, dropOnCluster } from '../kit/cluster.ts'
import { startGate } from '../kit/gate.ts'

// What `svc doctor` says of a cluster. That of the tests is started without a limit for connections to workers.

const nodes = inject('clusterNodes')
const name = `test_${randomBytes(6).toString('hex')}`
afterAll(() => dropOnCluster(nodes, name))

test('names the nodes that do not answer, and the setting without which one that is gone holds up all', async () => {
  const gates = await Promise.all(nodes.slice(1).map(startGate))
  await createOnCluster(nodes, name, 4, gates)
  const sql = openSql(addressOf(nodes[0] as string, { database: name }), { name: 'test', max: 1 })
  const findings = async () => {
    const found = []
    for await (const { state, text } of checkCluster(sql)) found.push(`${state}: ${text}`)
    return found
  }
  const endless = expect.stringContaining('warning: citus.node_conninfo has no tcp_user_timeout')
  try {
    expect(await findings()).toEqual([endless])
    await gates[0]?.shut()
    const port = String(gates[0]?.port)
    expect(await findings()).toEqual([
      expect.stringMatching(new RegExp(`^warning: the node \\S+:${port} does not answer: \\S`)),
      endless,
    ])
  } finally {
    await sql.end({ timeout: 5 })
    await gates[0]?.open()
    for (const gate of gates) await gate.shut()
  }
})
