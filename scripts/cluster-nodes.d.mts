export interface ClusterNode {
  port: number
  /** Its database `svc`. */
  url: string
  /** The file that it logs to. */
  log: string
  /** Runs statements in one of its databases with psql, each in a transaction of its own. */
  sql(database: string, ...statements: string[]): Promise<unknown>
  /** kill -9 of the postmaster alone: its sessions have to find out for themselves. */
  kill(): void
  /** Starts it again. */
  start(): Promise<void>
}
/** The programs of the newest PostgreSQL here that has the extension; undefined if none has. */
export function installedCitus(): string | undefined
/** Starts a coordinator, the first of `nodes`, and `workers`, of which the last `spare` are not added to the cluster. */
export function startCluster(options?: {
  workers?: number
  spare?: number
}): Promise<{ url: string; nodes: ClusterNode[]; stop(): Promise<void> }>
