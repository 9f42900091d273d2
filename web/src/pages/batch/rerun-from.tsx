import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { batchName } from '../../lib/batch-name.ts'
import { createJobStore } from '../../lib/live/batches.ts'
import { batchQuery, jobsQuery } from '../../lib/queries.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { RerunBatch } from './rerun-dialog.tsx'

/** The rerun dialog outside of the batch's page: fetches the required data first. */
export function RerunFrom({ batchId, onClose }: { batchId: string; onClose: () => void }) {
  const batch = useQuery(batchQuery(batchId))
  const jobs = useQuery(jobsQuery(batchId))
  const store = useMemo(() => {
    const made = createJobStore()
    made.put(jobs.data ?? [])
    return made
  }, [jobs.data])
  const error = batch.error ?? jobs.error
  // The dialog counts failed jobs, so it must not use stale data.
  useEffect(() => void jobs.refetch(), [jobs.refetch])
  if (batch.data && jobs.data)
    return <RerunBatch batch={batch.data} jobs={store} first="all" onClose={onClose} />
  return (
    <Dialog title={`Rerun ${batch.data ? batchName(batch.data) : batchId}?`} onClose={onClose} size="wide">
      {error ? <Failure>{errorText(error)} Nothing was started.</Failure> : <Waiting rows={4} />}
    </Dialog>
  )
}
