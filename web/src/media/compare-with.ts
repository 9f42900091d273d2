import { useQuery } from '@tanstack/react-query'
import { useBatchContext } from '../batch/context.ts'
import type { MediaItem } from '../lib/api/media.ts'
import { number } from '../lib/words.ts'
import { mediaItemsQuery } from './media-queries.ts'

/** Steps to compare with, at most. */
const MAX_STEPS = 200

/** What a value of a job at a step can be compared with: other jobs at this step, and this job at other steps. */
export function comparable(
  { job, step }: { job: string; step: number },
  jobs: readonly string[],
  steps: readonly number[],
  unit: string,
): [id: string, text: string][] {
  const others = steps.filter((one) => one !== step)
  return [
    ['', 'Compare with…'],
    ...jobs.filter((one) => one !== job).map((one): [string, string] => [`job ${one}`, one]),
    ...others.slice(-MAX_STEPS).map((one): [string, string] => [`step ${one}`, `${unit} ${number(one)}`]),
  ]
}

/** The values of a chosen one of these; undefined until they are known, and where there are none. */
export function useChosenValues(
  name: string,
  job: string,
  chosen: string,
  items: readonly MediaItem[],
): MediaItem | undefined {
  const { of, media } = useBatchContext()
  const step = chosen.startsWith('step ') ? Number(chosen.slice(5)) : undefined
  const read = useQuery({
    ...mediaItemsQuery(of, media as NonNullable<typeof media>, {
      keys: [name],
      jobs: [job],
      from: step,
      to: step,
    }),
    enabled: media !== null && step !== undefined,
  })
  if (step !== undefined) return read.data?.find((item) => item.job_id === job && item.step === step)
  return items.find((item) => item.job_id === chosen.slice(4))
}
