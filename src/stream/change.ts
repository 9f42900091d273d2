/**
 * Every change that the live stream reports (contract §6). A row of the log names what changed, by key; the hub
 * reads the current state, and only if there is a follower. So a change costs its writer a few
 * bytes, a message is never older than its change, and it is made by the same code as the REST answers.
 * One row is one channel in one commit.
 */
export type Change =
  | { channel: `project:${string}` | 'dashboard'; type: 'batches'; keys: number[] }
  /** The project itself: its name or visibility. */
  | { channel: `project:${string}`; type: 'project'; keys: number[] }
  /** The members of the project changed: followers of it or of its batches are checked again. */
  | { channel: `project:${string}`; type: 'access'; keys: number[] }
  /** Names the share's id, never its token. Its followers are disconnected. */
  | { channel: `share:${string}`; type: 'revoked'; batchKey: number }
  /** A batch, and those of its jobs whose keys are given. */
  | { channel: `batch:${string}`; type: 'summary'; batchKey: number; keys: number[] }
  /** What agents are told to do about a batch, and how far they are. */
  | { channel: `batch:${string}`; type: 'commands'; batchKey: number; keys: number[] }
  /** Agents: registered, seen, revoked, with something else to do. */
  | { channel: `host:${string}` | 'hosts'; type: 'host'; keys: number[] }
  /** What the events of a range of db_ids said about one batch. */
  | { channel: `metrics:${string}`; type: 'epochs'; batchKey: number; ids: IdRange }
  | { channel: `logs:${string}`; type: 'lines'; batchKey: number; ids: IdRange }
  | { channel: `resources:${string}`; type: 'snapshots'; batchKey: number; ids: IdRange }

/** db_ids from `first` to `last`, both included; events of other batches may lie between. */
export interface IdRange {
  first: number
  last: number
}
