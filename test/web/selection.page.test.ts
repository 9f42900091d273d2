import { readFile } from 'node:fs/promises'
import type { Page } from '@playwright/test'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fromAddress, inAddress, withRow } from '../../web/src/lib/selection.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf, settled } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

describe('a selection', () => {
  const list = ['a', 'b', 'c', 'd']
  const from = (selected: string[], row: Parameters<typeof withRow>[2]) => [
    ...withRow(new Set(selected), list, row),
  ]

  test('a range goes from the row clicked before to this one, in either direction', () => {
    expect(from(['a'], { id: 'c', on: true, from: 'a' })).toEqual(['a', 'b', 'c'])
    expect(from([], { id: 'b', on: true, from: 'd' })).toEqual(['b', 'c', 'd'])
    expect(from(list, { id: 'c', on: false, from: 'b' })).toEqual(['a', 'd'])
  })

  test('a row that is no longer in the list does not start a range', () => {
    expect(from([], { id: 'd', on: true, from: 'gone' })).toEqual(['d'])
  })

  test('checking and unchecking the same range leaves what was selected outside of it', () =>
    fc.assert(
      fc.property(fc.subarray(list), fc.constantFrom(...list), fc.constantFrom(...list), (before, a, b) => {
        const on = withRow(new Set(before), list, { id: b, on: true, from: a })
        const off = withRow(on, list, { id: b, on: false, from: a })
        const [low, high] = [list.indexOf(a), list.indexOf(b)].sort((x, y) => x - y)
        const within = list.slice(low, (high ?? 0) + 1)
        expect([...off].sort()).toEqual(before.filter((id) => !within.includes(id)))
        expect(within.every((id) => on.has(id))).toBe(true)
      }),
    ))

  test('the address contains a small selection but not a large one', () => {
    const ids = Array.from({ length: 51 }, (_, i) => `job-${i}`)
    expect(inAddress(new Set())).toBeUndefined()
    expect(fromAddress(inAddress(new Set(ids.slice(1))))).toEqual(ids.slice(1))
    expect(inAddress(new Set(ids))).toBeUndefined()
    expect(fromAddress('a')).toBeUndefined()
  })
})

/** Two rows of buttons with their margins; three are at least 116 pixels. */
const TWO_ROWS = 90

describe('jobs of a batch', () => {
  const BATCH = 'selected-sweep'

  const web = pageFixture(async ({ app, reporter }) => {
    const of = eventsOf(BATCH)
    const jobs = Array.from({ length: 6 }, (_, i) => `job-${i}`)
    await send(app, reporter, [
      of('batch_start', 3600, { n_total: 6 }),
      ...jobs.map((job, i) => of('job_start', 3590 - i, { lr: i / 8, note: i === 2 ? '=1+1' : 'x' }, job)),
      ...jobs.flatMap((job, i) =>
        Array.from({ length: 5 }, (_, n) =>
          of('job_epoch', 3500 - n * 10, { epoch: n, val_loss: (i + 1) / (n + 1) }, job),
        ),
      ),
    ])
  })

  async function onPage(
    path: string,
    use: (page: Page) => Promise<void>,
    options: { width?: number; theme?: 'light' | 'dark' } = {},
  ): Promise<void> {
    const { page, context, complaints } = await web.asAda(options)
    await page.goto(path)
    await settled(page)
    await use(page)
    expect(complaints).toEqual([])
    await context.close()
  }
  const bar = (page: Page) => page.getByRole('toolbar', { name: 'Selected jobs' })
  const box = (page: Page, job: string) => page.getByRole('checkbox', { name: `Select ${job}`, exact: true })
  const address = (page: Page): string => decodeURIComponent(page.url())
  const legend = (page: Page) => page.getByRole('complementary', { name: 'Jobs' }).getByRole('listitem')

  test('are selected one by one and by Shift, are in the address, and a link selects them again', () =>
    onPage(`/b/${BATCH}/jobs`, async (page) => {
      await box(page, 'job-1').check()
      await box(page, 'job-4').click({ modifiers: ['Shift'] })
      await bar(page).getByText('4 selected').waitFor()
      await box(page, 'job-2').uncheck()
      await bar(page).getByText('3 selected').waitFor()
      await expect.poll(() => address(page)).toContain('sel=["job-1","job-3","job-4"]')
      // To select a row is not to pick it.
      expect(page.url()).not.toContain('job=')
      await page.getByText('the charts show the selected 3').waitFor()
      await page.reload()
      await bar(page).getByText('3 selected').waitFor()
      expect(await box(page, 'job-3').isChecked()).toBe(true)
      expect(await box(page, 'job-2').isChecked()).toBe(false)
      expect(await seriousFindings(page)).toEqual([])
      await bar(page).getByRole('button', { name: 'Clear' }).click()
      await bar(page).waitFor({ state: 'detached' })
      await expect.poll(() => address(page)).not.toContain('sel=')
    }))

  test('are selected by the keys j, x and Shift x', () =>
    onPage(`/b/${BATCH}/jobs`, async (page) => {
      await page.locator('[data-job="job-0"]').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('x')
      await bar(page).getByText('1 selected').waitFor()
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      await page.keyboard.press('Shift+X')
      await bar(page).getByText('3 selected').waitFor()
      await page.keyboard.press('x')
      await bar(page).getByText('2 selected').waitFor()
    }))

  test('of a query are selected together, and stay selected when another query hides them', () =>
    onPage(`/b/${BATCH}/jobs`, async (page) => {
      await page.getByLabel('Find jobs').fill('lr<0.25')
      await page.getByRole('checkbox', { name: 'Select all 2 listed jobs' }).check()
      await bar(page).getByText('2 selected').waitFor()
      await page.getByLabel('Find jobs').fill('lr>0.1')
      await bar(page).getByText('2 selected (1 not listed)').waitFor()
      await expect
        .poll(() =>
          page
            .getByRole('checkbox', { name: 'Select all 5 listed jobs' })
            .evaluate((one: HTMLInputElement) => one.indeterminate),
        )
        .toBe(true)
    }))

  test('that are selected can be the only ones in the charts, until all are requested', () =>
    onPage(`/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-5","job-2"]')}`, async (page) => {
      await bar(page).getByRole('link', { name: 'Chart only these' }).click()
      await page.getByText('Only 2 selected jobs of 6 are drawn').waitFor()
      expect(await legend(page).count()).toBe(2)
      await page.reload()
      await page.getByText('Only 2 selected jobs of 6 are drawn').waitFor()
      await page.getByRole('button', { name: 'Draw all jobs' }).click()
      await expect.poll(() => legend(page).count()).toBe(6)
      await page.getByRole('button', { name: 'Draw only the 2 selected' }).click()
      await expect.poll(() => legend(page).count()).toBe(2)
      await page.getByRole('link', { name: 'Jobs', exact: true }).click()
      await bar(page).getByText('2 selected').waitFor()
    }))

  test('that are selected open as a sweep of their own', () =>
    onPage(`/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-5","job-2"]')}`, async (page) => {
      await bar(page).getByRole('link', { name: 'Open as sweep' }).click()
      await page.getByText('2 selected jobs').waitFor()
      await page.getByRole('button', { name: 'Show all jobs' }).waitFor()
    }))

  test('can be tagged from the bar and found by a tag, and Undo removes the tags', () =>
    onPage(`/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-1","job-4"]')}`, async (page) => {
      const cell = (job: string, text: string) => page.locator(`[data-job="${job}"]`).getByText(text)
      await bar(page).getByRole('button', { name: 'Tag' }).click()
      await page.getByLabel('Add tags').fill('keep, "worth a look"')
      expect(await seriousFindings(page)).toEqual([])
      await page.getByRole('button', { name: 'Change the tags' }).click()
      await page.getByText('Tags of 2 jobs changed.').waitFor()
      await cell('job-4', 'worth a look').waitFor()
      await page.getByLabel('Find jobs').fill('tag:keep')
      await page.getByText('2 jobs of 6').waitFor()
      await page.reload()
      await page.getByText('2 jobs of 6').waitFor()
      await cell('job-1', 'keep').waitFor()

      await page.goto(`/?q=${encodeURIComponent('tag:keep')}`)
      await page.getByRole('link', { name: 'job-4' }).click()
      await page.getByRole('term').filter({ hasText: 'Tags' }).waitFor()
      await page.getByRole('button', { name: 'Tag', exact: true }).click()
      await page.getByRole('checkbox', { name: 'worth a look' }).check()
      await page.getByLabel('Add tags').fill('paper')
      await page.getByRole('button', { name: 'Change the tags' }).click()
      const tags = page.getByRole('definition').filter({ hasText: 'keep' })
      await expect.poll(() => tags.innerText()).toBe('keep\npaper')
      await page.getByRole('button', { name: 'Undo' }).click()
      await expect.poll(() => tags.innerText()).toBe('keep\nworth a look')
    }))

  test('are exported with the reported values; formulas are escaped for spreadsheets', () =>
    onPage(`/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-3","job-2"]')}`, async (page) => {
      const download = page.waitForEvent('download')
      await bar(page).getByRole('button', { name: 'Export' }).click()
      await page.getByRole('menuitem', { name: 'CSV file' }).click()
      const file = await download
      expect(file.suggestedFilename()).toBe(`${BATCH}-jobs.csv`)
      const [head, ...rows] = (await readFile(await file.path(), 'utf8')).trim().split('\r\n')
      const columns = head?.split(',') ?? []
      const values = rows.map((row) =>
        Object.fromEntries(row.split(',').map((cell, i) => [columns[i], cell])),
      )
      expect(values.map((row) => [row.id, row['params.lr'], row['params.note'], row.val_loss])).toEqual([
        ['job-2', '0.25', "'=1+1", '0.6'],
        ['job-3', '0.375', 'x', '0.8'],
      ])
    }))

  test('that are selected are compared by what they were given, with differences marked, alone or with other batches', () =>
    onPage(`/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-3","job-2"]')}`, async (page) => {
      await bar(page).getByRole('link', { name: 'Compare configuration' }).click()
      await page.getByRole('heading', { name: 'Compare 2 jobs of 1 batch' }).waitFor()
      const table = page.getByRole('region', { name: 'What differs' }).last()
      const rows = () =>
        table
          .locator('tbody tr')
          .evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)))
      expect(await table.locator('th').allTextContents()).toEqual(['Field', 'job-2', 'job-3'])
      expect((await rows()).slice(0, 2)).toEqual([
        ['parameter lr (differs)', '0.25', '0.375'],
        ['parameter note (differs)', '=1+1', 'x'],
      ])
      expect(await rows()).toContainEqual(['experiment type', 'sweep', 'sweep'])
      expect(await seriousFindings(page)).toEqual([])
      await page.reload()
      await expect.poll(async () => (await rows()).length).toBeGreaterThan(3)
      await page.getByLabel('Show equal fields too').uncheck()
      // How long the two took may differ as well.
      await expect
        .poll(async () => (await rows()).flatMap(([name]) => (name === 'elapsed' ? [] : [name])))
        .toEqual(['parameter lr', 'parameter note'])
      await page.getByRole('button', { name: 'Compare all 6 jobs' }).click()
      await page.getByRole('heading', { name: 'Compare 6 jobs of 1 batch' }).waitFor()
    }))

  test('have a toolbar of at most two rows on a phone, with the rest in a menu', () =>
    onPage(
      `/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-1","job-4"]')}`,
      async (page) => {
        await bar(page).getByText('2 selected').waitFor()
        expect((await bar(page).boundingBox())?.height).toBeLessThan(TWO_ROWS)
        await bar(page).getByRole('button', { name: 'More' }).click()
        await expect
          .poll(() => page.getByRole('menuitem').allTextContents())
          .toEqual([' Compare configuration', ' Open as sweep', 'Tag', 'Copy ids'])
        await page.getByRole('menuitem', { name: 'Tag' }).click()
        await page.getByLabel('Add tags').waitFor()
      },
      { width: 390 },
    ))

  test('of a project have one, too', () =>
    onPage(
      '/p/digits',
      async (page) => {
        await page.getByLabel(`Select ${BATCH}`).check()
        const batches = page.getByRole('toolbar', { name: 'Selected batches' })
        await batches.getByText('1 selected').waitFor()
        expect((await batches.boundingBox())?.height).toBeLessThan(TWO_ROWS)
        await batches.getByRole('button', { name: 'More' }).click()
        await expect
          .poll(() => page.getByRole('menuitem').allTextContents())
          .toEqual(['Tag', 'Set as baseline', 'Star', 'Archive', 'Report', 'Share', 'Delete'])
        await page.getByRole('menuitem', { name: 'Star' }).click()
        await batches.getByRole('button', { name: 'More' }).click()
        await page.getByRole('menuitem', { name: 'Remove star' }).waitFor()
      },
      { width: 390 },
    ))

  test.each([
    [390, 'dark'],
    [2560, 'light'],
  ] as const)('are selected at a width of %i in the %s theme without a finding of axe', (width, theme) =>
    onPage(
      `/b/${BATCH}/jobs?sel=${encodeURIComponent('["job-1"]')}`,
      async (page) => {
        await bar(page).getByText('1 selected').waitFor()
        const right = await bar(page).evaluate((one) => one.scrollWidth - one.clientWidth)
        expect(right).toBe(0)
        expect(await seriousFindings(page)).toEqual([])
      },
      { width, theme },
    ))
})
