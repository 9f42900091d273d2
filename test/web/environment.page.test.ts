import { expect, test } from 'vitest'
import { putFile } from '../files/sending-files.ts'
import { pageFixture } from './page-fixture.ts'
import { COMMAND, eventsOf, sendRanBatch } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

const RAN = 'night-sweep'

const web = pageFixture(async ({ app, reporter }) => {
  await sendRanBatch(app, reporter, RAN)
  const other = eventsOf('other-night', { commit: 'fff0000' })
  await send(app, reporter, [
    other('batch_start', 30, { n_total: 4, env_snapshot: { command: COMMAND, python_version: '3.13.0' } }),
    other('job_start', 29, { model: 'mlp', depth: 3 }, 'x'),
  ])
})
const { asAda } = web

test('the environment is shown completely, and in comparison with another batch only its differences', async () => {
  const { page, context, complaints } = await asAda()
  await page.goto(`/b/${RAN}/environment`)
  await page.getByText('3.12.1').waitFor()
  await page.getByLabel('Compare with').fill('other-night')
  await page.getByRole('button', { name: 'Compare', exact: true }).click()
  await page.waitForURL(/with=other-night/)
  const rows = page.getByRole('region', { name: 'What differs' }).getByRole('row')
  await rows.nth(1).waitFor()
  await expect.poll(() => rows.getByRole('rowheader').allInnerTexts()).toContain('parameter depth')
  const names = await rows.getByRole('rowheader').allInnerTexts()
  expect(names).toContain('commit')
  expect(names).toContain('Python')
  expect(names).not.toContain('command')
  expect(names).not.toContain('parameter model')
  expect(complaints).toEqual([])
  await context.close()
})

/** The lines in which the reporter sends a diff: a head, then parts. */
const diffLines = (...parts: string[]): string[] => [
  `git diff against HEAD: ${parts.join('').length} bytes in ${parts.length} parts`,
  ...parts.map((part, i) => `git diff, part ${i + 1} of ${parts.length}\n${part}`),
]

test('the uncommitted changes of a run are shown, and their differences from those of another run', async () => {
  const changed = (id: string, lr: string) => {
    const of = eventsOf(id)
    return [
      of('batch_start', 30, { n_total: 1, env_snapshot: { commit: 'abc1234', dirty: true } }),
      of('job_start', 29, {}, 'x'),
      ...diffLines(`diff --git a/train.py b/train.py\n@@ -1 +1 @@\n-lr = 1\n`, `+lr = ${lr}\n`).map((line) =>
        of('log_line', 28, { line, level: 'debug' }, 'x'),
      ),
      of('log_line', 27, { line: 'see git diff, part 3 of 2', level: 'info' }, 'x'),
    ]
  }
  await send(web.app, web.reporter, [...changed('dirty-1', '0.1'), ...changed('dirty-2', '0.2')])
  const { page, context, complaints } = await asAda()
  await page.goto('/b/dirty-1/environment')
  const own = page.getByRole('region', { name: 'Git diff against the commit' })
  await expect
    .poll(() => own.locator('span').allTextContents())
    .toEqual(['diff --git a/train.py b/train.py', '@@ -1 +1 @@', '-lr = 1', '+lr = 0.1'])
  await page.goto('/compare?batches=%5B%22dirty-1%22%2C%22dirty-2%22%5D')
  const code = page.getByRole('region', { name: 'Code' })
  await code.getByText('Both ran commit abc1234.').waitFor()
  await expect
    .poll(() => code.locator('pre span').allTextContents())
    .toEqual(expect.arrayContaining(['-+lr = 0.1', '++lr = 0.2']))
  expect(await seriousFindings(page)).toEqual([])
  // A run without changes, of another commit: its changes are all that differ, and the command tells the rest.
  await page.goto(`/b/dirty-2/environment?with=other-night`)
  await code.getByText('git diff fff0000 abc1234').waitFor()
  await code.getByText('+lr = 0.2').waitFor()
  // A run that keeps its diff as a file.
  const of = eventsOf('dirty-3')
  await send(web.app, web.reporter, [
    of('batch_start', 30, { n_total: 1, env_snapshot: { commit: 'abc1234', dirty: true } }),
  ])
  const diff = 'diff --git a/train.py b/train.py\n@@ -1 +1 @@\n-lr = 1\n+lr = 0.3\n'
  await putFile(web.app, { token: web.reporter, batch: 'dirty-3' }, '.svc/diff.patch', diff)
  await page.goto('/b/dirty-3/environment')
  await expect.poll(() => own.locator('span').allTextContents()).toContain('+lr = 0.3')
  // A run whose diff was not recorded.
  await page.goto(`/b/dirty-2/environment?with=${RAN}`)
  await code.getByText(`${RAN} had uncommitted changes that were not recorded.`).waitFor()
  await page.getByLabel('Find in the environment').fill('commit')
  await expect
    .poll(() => page.getByRole('region', { name: 'Environment' }).locator('dt').allTextContents())
    .toEqual(['commit', 'uncommitted changes'])
  expect(complaints).toEqual([])
  await context.close()
})
