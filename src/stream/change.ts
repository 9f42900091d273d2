/**
 * Every change that the live stream can tell (contract §6). A change carries its content (points, lines, the
 * summary's changed fields), so that nobody has to ask again. One row of the log is one channel in one commit.
 */
export type Change =
  | { channel: `project:${string}`; type: 'batches'; payload: { batches: BatchChange[] } }
  | { channel: `batch:${string}`; type: 'summary'; payload: { batch: BatchChange; jobs: JobChange[] } }
  | { channel: `metrics:${string}`; type: 'epochs'; payload: { points: EpochPoint[] } }
  | { channel: `logs:${string}`; type: 'lines'; payload: { lines: LogLineChange[] } }
  | { channel: `resources:${string}`; type: 'snapshots'; payload: { snapshots: SnapshotChange[] } }
  | { channel: 'dashboard'; type: 'batches'; payload: { batches: BatchChange[] } }

/** The changed fields of a batch, named as in its REST form (contract §4); a reader merges them into what it has. */
export type BatchChange = { id: string; project: string } & Record<string, unknown>
/** The changed fields of a job, named as in its REST form. */
export type JobChange = { id: string; key: string } & Record<string, unknown>
/** One epoch of one job; values are numbers, or "NaN", "Infinity", "-Infinity". */
export interface EpochPoint {
  job_id: string
  epoch: number
  timestamp: string
  values: Record<string, number | string>
}
export interface LogLineChange {
  db_id: number
  timestamp: string
  job_id: string
  level: string
  line: string
}
export interface SnapshotChange {
  timestamp: string
  job_id: string | null
  values: Record<string, number | string>
  gpus?: unknown
}
