export interface ClusterNode {
  port: number
  /** Its database `svc`. */
  url: string
  /** The file that it logs to. */
  log: string
  /** kill -9 of the postmaster alone: its sessions have to find out for themselves. */
  kill(): void
  /** Starts it again. */
  start(): Promise<void>
}
/** Starts a coordinator, the first of `nodes`, and `workers`, of which the last `spare` are not added to the cluster. */
export function startCluster(options?: {
  workers?: number
  spare?: number
}): Promise<{ url: string; nodes: ClusterNode[]; stop(): Promise<void> }>
