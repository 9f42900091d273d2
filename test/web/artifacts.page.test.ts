import { expect, test } from 'vitest'
import { declaration, patch } from '../files/sending-files.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

const HOSTILE = '<img src=x onerror="document.title=1">'

const web = pageFixture(async ({ app, reporter }) => {
  for (const batch of ['made', 'used']) {
    const of = eventsOf(batch)
    await send(app, reporter, [of('batch_start', 60, {}), of('job_start', 59, {}, 'one')])
  }
  const make = async (name: string, files: Record<string, string>, more: object = {}) => {
    const answer = await app.call('POST', '/api/projects/digits/artifacts', {
      token: reporter,
      body: {
        name,
        type: 'model',
        files: Object.entries(files).map(([path, text]) => declaration(path, text)),
        ...more,
      },
    })
    if (answer.status !== 201) throw new Error(JSON.stringify(answer.body))
    for (const { path, upload_url } of answer.body.uploads)
      if (upload_url) await patch(app, reporter, upload_url, 0, files[path] ?? '')
  }
  await make('resnet', { 'model.txt': 'first', 'config.json': '{"depth": 18}' }, { batch_id: 'made' })
  await make(
    'resnet',
    { 'model.txt': 'second', 'config.json': '{"depth": 18}' },
    { batch_id: 'made', job_id: 'one', aliases: ['best'], metadata: { note: HOSTILE } },
  )
  const used = await app.call('POST', '/api/projects/digits/artifacts/resnet/v1/uses', {
    token: reporter,
    body: { batch_id: 'used' },
  })
  expect(used.status).toBe(201)
  await make('distilled', { 'model.txt': 'third' }, { batch_id: 'used' })
})

test('a project lists its artifacts, and a version shows files, changes, metadata and lineage', async () => {
  const { page, context, complaints } = await web.asAda({ width: 1440 })
  await page.goto('/p/digits/reports')
  await page.getByRole('link', { name: 'Artifacts' }).click()
  await page.getByRole('link', { name: 'distilled' }).waitFor()
  await page.getByLabel('Find artifacts').fill('res')
  await page.getByRole('link', { name: 'distilled' }).waitFor({ state: 'detached' })
  await page.getByRole('link', { name: 'resnet' }).click()
  await page.getByRole('heading', { name: '2 versions' }).waitFor()
  await page.getByRole('heading', { name: 'resnet v1' }).waitFor()
  await page.getByText('Since v0: 1 file changed: model.txt').waitFor()
  await page.getByText(HOSTILE).waitFor()
  const lineage = page.getByRole('region', { name: 'Lineage' }).last()
  await lineage.getByRole('link', { name: 'made, one' }).waitFor()
  await lineage.getByRole('link', { name: 'used' }).waitFor()
  await lineage.getByRole('link', { name: 'distilled v0' }).waitFor()
  await page.locator('[data-file="model.txt"]').click()
  await page.getByRole('region', { name: 'model.txt' }).getByText('second').waitFor()
  expect(await page.title()).not.toBe('1')
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('an alias is moved with a comment, and the history says who did it', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto('/p/digits/artifacts/resnet?version=v0')
  await page.getByRole('button', { name: 'Move an alias' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'best' }).click()
  await page.getByLabel('Comment').fill('The second one diverged')
  await page.getByRole('button', { name: 'Change the aliases' }).click()
  const moves = page.getByRole('region', { name: 'Moves of aliases' })
  await moves.getByText('moved from v1 to v0').waitFor()
  await moves.getByText('The second one diverged').waitFor()
  await expect.poll(() => page.getByRole('region', { name: 'resnet v0' }).innerText()).toContain('best')
  expect(complaints).toEqual([])
  await context.close()
})

test('a version that is in use is deleted only after the dialog has said what else that ends', async () => {
  const { page, context, complaints } = await web.asAda({ width: 1440 })
  await page.goto('/p/digits/artifacts/resnet?version=v1')
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText('1 batch used it: runs that download it again will fail').waitFor()
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Keep it' }).click()
  await dialog.waitFor({ state: 'detached' })
  const versions = () =>
    web.app
      .call('GET', '/api/projects/digits/artifacts/resnet', { token: web.ada.token })
      .then(({ body }) => body.items.map((one: { version: string }) => one.version))
  expect(await versions()).toEqual(['v1', 'v0'])
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByRole('button', { name: 'Delete it although it is in use' }).click()
  await page.getByRole('heading', { name: 'resnet v0' }).waitFor()
  expect(await versions()).toEqual(['v0'])
  // The alias `best` was moved to it.
  await page.getByRole('button', { name: 'Delete', exact: true }).click()
  await dialog.getByText('best will point to no version').waitFor()
  expect(complaints).toEqual([])
  await context.close()
})
