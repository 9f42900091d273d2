/**
 * Every change that the live stream reports (contract §6). A row of the log names what changed, by key. The hub reads
 * the current state only if someone follows the channel. So a change costs its writer a few bytes, a message is never
 * older than its change, and the same code makes messages and REST answers. One row is one channel in one commit.
 */
export type Change =
  | { channel: `project:${string}` | 'dashboard'; type: 'batches'; keys: number[] }
  /** The project itself: its name or visibility. */
  | { channel: `project:${string}`; type: 'project'; keys: number[] }
  /** The members of the project changed: the permissions of its followers, and of its batches' followers, are checked again. */
  | { channel: `project:${string}`; type: 'access'; keys: number[] }
  /** The channel has the share's id, never its token. Its followers are disconnected. */
  | { channel: `share:${string}`; type: 'revoked'; batchKey: number }
  /** A batch, and the jobs of it whose keys are given. */
  | { channel: `batch:${string}`; type: 'summary'; batchKey: number; keys: number[] }
  /** Files of a batch arrived or were deleted, or it got media. */
  | { channel: `batch:${string}`; type: 'files' | 'media'; batchKey: number; keys: number[] }
  /** Comments on a batch, or on a report of the project. */
  | { channel: `batch:${string}`; type: 'comments'; batchKey: number; keys: number[] }
  | { channel: `project:${string}`; type: 'comments'; keys: number[] }
  /** What happened that concerns a person; each person sees their own. */
  | { channel: 'notices'; type: 'notices'; keys: number[] }
  /** Commands to agents about a batch, and their progress. */
  | { channel: `batch:${string}`; type: 'commands'; batchKey: number; keys: number[] }
  /** Agents: registered, seen, revoked, or with another command. */
  | { channel: `host:${string}` | 'hosts'; type: 'host'; keys: number[] }
  /** Points, log lines and snapshots that a batch got from a range of events. */
  | { channel: `metrics:${string}`; type: 'epochs'; batchKey: number; ids: IdRange }
  | { channel: `logs:${string}`; type: 'lines'; batchKey: number; ids: IdRange }
  | { channel: `resources:${string}`; type: 'snapshots'; batchKey: number; ids: IdRange }

/** db_ids from `first` to `last`, both included; events of other batches may lie between. */
export interface IdRange {
  first: number
  last: number
}
