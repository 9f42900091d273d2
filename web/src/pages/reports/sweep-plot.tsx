import { useState } from 'react'
import { useBatchContext } from '../../batch/context.ts'
import { ParallelView } from '../../columns/parallel-view.tsx'
import type { Batch } from '../../lib/api/batches.ts'
import type { SweepSearch } from '../../lib/sweep-search.ts'
import { ColourScale } from '../../sweeps/colour-scale.tsx'
import { useSweep } from '../../sweeps/use-sweep.ts'

/** The parallel coordinates of a sweep in a report, coloured by its main result. Brushes are the reader's own. */
export function SweepPlot({ batch }: { batch: Batch }) {
  const { jobs, focus } = useBatchContext()
  const [search, setSearch] = useState<SweepSearch>({})
  const sweep = useSweep(batch.id, jobs, search)
  const { metric } = sweep
  if (sweep.ordered.length === 0) return <p className="text-muted">No job has started yet.</p>
  return (
    <figure className="flex min-w-0 flex-col gap-1">
      <ParallelView
        rows={sweep.ordered}
        isSorted={metric !== undefined}
        kept={sweep.kept}
        axes={sweep.axes}
        chosenAxes={sweep.chosenAxes}
        shownAxes={sweep.shownAxes}
        search={search}
        change={(part) => setSearch((now) => ({ ...now, ...part }) as SweepSearch)}
        strokeOf={sweep.strokeOf}
        focus={focus}
      />
      {metric && (
        <figcaption className="flex items-center gap-2 text-xs text-muted">
          {metric.title} <ColourScale axis={metric} />
        </figcaption>
      )}
    </figure>
  )
}
