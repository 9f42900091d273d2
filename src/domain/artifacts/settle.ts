import type { Settle } from '../files/index.ts'

export const settleArtifacts: Settle = async () => []
