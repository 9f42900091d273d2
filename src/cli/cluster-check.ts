import { isCluster } from '../db/cluster.ts'
import type { Sql } from '../db/sql.ts'
import { type Finding, ok, warning } from './finding.ts'

interface Node {
  name: string
  answers: boolean
  /** The answer of a node, or why there was none. */
  result: string
}

const ENOUGH_PREPARED =
  "select current_setting('max_prepared_transactions')::int >= current_setting('max_connections')::int"

/**
 * Checks whether the nodes of a Citus cluster answer and have the settings that docs/scaling.md requires. Without a
 * cluster it finds nothing.
 */
export async function* checkCluster(sql: Sql): AsyncGenerator<Finding> {
  if (!(await isCluster(sql))) return
  const nodes = await sql<Node[]>`/* doctor.nodes */
    select nodename || ':' || nodeport as name, success as answers, result
    from run_command_on_all_nodes(${ENOUGH_PREPARED})
    join pg_dist_node using (nodeid) order by groupid`
  const away = nodes.filter(({ answers }) => !answers)
  for (const { name, result } of away)
    yield warning(
      'cluster',
      `the node ${name} does not answer: ${result.split('\n')[0]}`,
      'Requests for batches of this node are answered with 503 until it does.',
    )
  const few = nodes.filter(({ answers, result }) => answers && result !== 't').map(({ name }) => name)
  if (few.length > 0)
    yield warning(
      'cluster',
      `max_prepared_transactions is below max_connections at ${few.join(', ')}`,
      'Raise it there: every commit prepares a transaction on each node that it writes to.',
    )
  // Visible only to roles that may read all settings.
  const [connection] = await sql<{ setting: string }[]>`/* doctor.node_conninfo */
    select setting from pg_settings where name = 'citus.node_conninfo'`
  const endless = connection !== undefined && !connection.setting.includes('tcp_user_timeout')
  if (endless)
    yield warning(
      'cluster',
      'citus.node_conninfo has no tcp_user_timeout, so a worker whose machine is gone holds up all batches',
      'Add tcp_user_timeout and keepalives to it at the coordinator (docs/scaling.md "A Citus cluster").',
    )
  if (away.length === 0 && few.length === 0 && !endless)
    yield ok('cluster', `${nodes.length} nodes of Citus answer`)
}
