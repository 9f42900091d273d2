import { putFile } from '../files/sending-files.ts'
import type { TestApp } from '../kit/app.ts'
import { mediaValue, rings } from './media-samples.ts'
import { eventsOf } from './ran-batch.ts'
import { send } from './visit.ts'

/** A run whose only job has images at the first two steps of the other batch. */
export async function sendOther(app: TestApp, reporter: string): Promise<void> {
  const of = eventsOf('others')
  const images = [0, 5].map((step) => ({ step, value: rings(500 + step) }))
  await send(app, reporter, [of('batch_start', 100, { name: 'other run' }), of('job_start', 99, {}, 'main')])
  for (const { value } of images)
    await putFile(
      app,
      { token: reporter, batch: 'others' },
      `media/${value.sha256.slice(0, 16)}`,
      value.bytes,
    )
  await send(app, reporter, [
    ...images.map(({ step, value }) =>
      of(
        'job_epoch',
        90 - step,
        { epoch: step, val_loss: 1, samples: mediaValue('image', value, { width: 64, height: 64 }) },
        'main',
      ),
    ),
  ])
}
