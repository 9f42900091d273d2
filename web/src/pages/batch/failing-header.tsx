import type { Batch } from '../../lib/api/batches.ts'
import { useKeptOpen } from '../../ui/use-kept-open.ts'
import { Failures, FailuresChip } from './failures.tsx'
import { BatchHeader } from './header.tsx'

/** The header of a batch, and the errors that it opens. */
export function FailingHeader(props: {
  batch: Batch
  shared?: boolean
  /** Opens the errors at first, for links to them. */
  isOpened?: boolean
}) {
  const { batch, shared = false, isOpened = false } = props
  const [isOpen, setOpen] = useKeptOpen(`failures of ${batch.id}`, isOpened)
  return (
    <>
      <BatchHeader
        batch={batch}
        shared={shared}
        failures={<FailuresChip batchId={batch.id} isOpen={isOpen} onOpen={setOpen} />}
      />
      {isOpen && <Failures batchId={batch.id} open={isOpened} />}
    </>
  )
}
