import type { Logger } from 'pino'
import type { Facts, Picture } from '../domain/notifications/index.ts'
import { chartOfBatch, pngOf } from '../domain/pictures/index.ts'
import type { TelemetryPool } from '../domain/telemetry.ts'

const SIZE = { width: 560, height: 240 }

/** A chart of the jobs that a message is about; null for a test, without values, or if it could not be drawn. */
export async function pictureOf(
  { sql, log }: { sql: TelemetryPool; log: Logger },
  { batch, jobs, moreJobs, rule, trigger }: Facts,
): Promise<Picture | null> {
  if (trigger === null || batch === null || jobs.every(({ losses }) => losses.length === 0)) return null
  try {
    const { scene, title } = await chartOfBatch(sql, {
      ...SIZE,
      batchKey: batch.key,
      name: batch.id,
      jobs: jobs.map(({ id }) => id),
      more: moreJobs > 0,
      key: rule.condition?.key,
      unit: 'epoch',
      theme: 'light',
    })
    return { ...SIZE, png: await pngOf(scene), label: `${title} of ${batch.id}` }
  } catch (err) {
    log.warn({ err }, 'the chart of a message could not be drawn: it is sent without one')
    return null
  }
}
