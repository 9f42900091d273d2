/** The health of batches, jobs and agents: read on request, and watched (specification §3.1, §3.2; contract §4, §7). */
export { type Health, healthFields } from './health-fields.ts'
export { healthOf, healthOfBatches } from './reads.ts'
export { batchesDue, type WatchResult, watchBatches } from './watch.ts'
export { agentsDue, watchAgents } from './watch-agents.ts'
