import { expect, test } from 'vitest'
import { tagsIn, tagsText } from '../../web/src/lib/tags.ts'
import { pageFixture } from './page-fixture.ts'
import { eventsOf } from './ran-batch.ts'
import { send, seriousFindings } from './visit.ts'

// Notes are Markdown without anything that acts; tags are written with spaces or commas.

const ID = 'noted'

const web = pageFixture(async ({ app, reporter }) => {
  const of = eventsOf(ID)
  await send(app, reporter, [
    of('batch_start', 60, { n_total: 1, tags: ['night run', 'lr'] }),
    of('job_start', 60, {}, 'main'),
  ])
})

const ATTACKS = [
  '<script>window.hacked = 1</script>',
  '<img src=x onerror="window.hacked = 1">',
  '[link](javascript:window.hacked=1)',
  '<a href="https://example.org" onclick="window.hacked = 1" style="position:fixed">over</a>',
  '<iframe srcdoc="<script>parent.hacked = 1</script>"></iframe>',
  '<form action="https://example.org"><input name=password></form>',
  '<svg><animate onbegin="window.hacked = 1" /></svg>',
  '![pixel](https://example.org/"onload=window.hacked=1.png)',
  '![<b onclick=window.hacked=1>](javascript:window.hacked=1)',
]

test('notes are shown as Markdown, without scripts or active content', async () => {
  const notes = [
    '# Why\n\nlr **too high**, see [the paper](https://example.org/p)\n\n- one\n- [x] two\n\n`x = 1`\n\n|a|b|\n|-|-|\n|1|2|',
    ...ATTACKS,
  ].join('\n\n')
  await web.app.call('PATCH', `/api/batches/${ID}`, { token: web.ada.token, body: { notes } })
  const { page, context, complaints } = await web.asAda()
  await page.goto(`/b/${ID}`)
  const shown = page.getByRole('region', { name: 'Notes', exact: true })
  await shown.getByRole('heading', { name: 'Why' }).waitFor()
  expect(await shown.getByRole('listitem').allInnerTexts()).toEqual(['one', '☑ two'])
  expect(await shown.getByRole('cell').allInnerTexts()).toEqual(['1', '2'])
  expect(await shown.locator('strong').innerText()).toBe('too high')
  const link = shown.getByRole('link', { name: 'the paper' })
  expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
  // HTML is text, as it was typed.
  await shown.getByText(ATTACKS[0] ?? '').waitFor()
  expect(
    await shown.locator('script, img, iframe, form, input, svg, [onclick], [onload], [style]').count(),
  ).toBe(0)
  expect(await shown.locator('a[href^="javascript"]').count()).toBe(0)
  expect(await page.evaluate(() => (window as { hacked?: number }).hacked)).toBeUndefined()
  expect(await seriousFindings(page)).toEqual([])
  expect(complaints).toEqual([])
  await context.close()
})

test('notes are previewed before they are saved; tags are separated by spaces or commas', async () => {
  const { page, context, complaints } = await web.asAda()
  await page.goto(`/b/${ID}`)
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  expect(await dialog.getByLabel('Tags').inputValue()).toBe('"night run" lr')
  await dialog.getByLabel('Tags').fill('"night run" best, adam  cosine')
  await dialog.getByLabel('Notes').fill('## Next\n\n1. lower lr')
  await dialog.getByRole('button', { name: 'Preview' }).click()
  await dialog.getByRole('heading', { name: 'Next' }).waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  // Not the preview, which says the same before anything is saved.
  await dialog.waitFor({ state: 'detached' })
  await page
    .getByRole('region', { name: 'Notes', exact: true })
    .getByRole('heading', { name: 'Next' })
    .waitFor()
  const { body } = await web.app.call('GET', `/api/batches/${ID}`, { token: web.ada.token })
  expect([body.tags, body.notes]).toEqual([['night run', 'best', 'adam', 'cosine'], '## Next\n\n1. lower lr'])
  expect(complaints).toEqual([])
  await context.close()
})

test('a form that is open while another tab saves does not undo it, and warns before it replaces it', async () => {
  const change = (body: Record<string, unknown>) =>
    web.app.call('PATCH', `/api/batches/${ID}`, { token: web.ada.token, body })
  await change({ notes: 'first', tags: [] })
  const { page, context } = await web.asAda()
  await page.goto(`/b/${ID}`)
  const edit = page.getByRole('button', { name: 'Edit' })
  const dialog = page.getByRole('dialog')
  const stored = async () => {
    const { notes, tags } = (await web.app.call('GET', `/api/batches/${ID}`, { token: web.ada.token })).body
    return { notes, tags }
  }
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await edit.click()
  await dialog.getByLabel('Tags').fill('mine')
  await change({ notes: 'theirs' })
  await expect.poll(() => dialog.getByLabel('Notes').inputValue()).toBe('theirs')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await stored()).toEqual({ notes: 'theirs', tags: ['mine'] })

  await edit.click()
  await dialog.getByLabel('Notes').fill('theirs and mine')
  await change({ notes: 'theirs again', tags: ['other'] })
  await dialog.getByRole('alert').getByText('theirs again').waitFor()
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await stored()).toEqual({ notes: 'theirs and mine', tags: ['other'] })
  await context.close()
})

test('a name that was changed elsewhere is not replaced without a warning, and tags of two tabs come together', async () => {
  const change = (body: Record<string, unknown>) =>
    web.app.call('PATCH', `/api/batches/${ID}`, { token: web.ada.token, body })
  const stored = async () => {
    const { name, group, tags } = (await web.app.call('GET', `/api/batches/${ID}`, { token: web.ada.token }))
      .body
    return { name, group, tags: tags.toSorted() }
  }
  await change({ name: 'first', group: 'g', tags: ['old', 'kept'] })
  const { page, context, complaints } = await web.asAda()
  await page.goto(`/b/${ID}`)
  await page.locator('[data-stream]', { hasText: 'live' }).waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Tags').fill('kept mine')
  await dialog.getByLabel('Name').fill('mine')
  await change({ name: 'theirs', group: 'their group', add_tags: ['theirs'] })
  await dialog.getByRole('alert').getByText('changed elsewhere meanwhile, to “theirs”').waitFor()
  expect(await dialog.getByLabel('Group').inputValue()).toBe('their group')
  expect(await seriousFindings(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Discard mine' }).click()
  expect(await dialog.getByLabel('Name').inputValue()).toBe('theirs')
  await dialog.getByRole('button', { name: 'Save' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await stored()).toEqual({ name: 'theirs', group: 'their group', tags: ['kept', 'mine', 'theirs'] })
  expect(complaints).toEqual([])
  await context.close()
})

test('tags that were added elsewhere stay when a selection is tagged, and when that is undone', async () => {
  const body = { name: null, tags: ['before'] }
  await web.app.call('PATCH', `/api/batches/${ID}`, { token: web.ada.token, body })
  const tags = async () =>
    (await web.app.call('GET', `/api/batches/${ID}`, { token: web.ada.token })).body.tags.toSorted()
  const { page, context, complaints } = await web.asAda()
  await page.goto('/p/digits')
  await page.getByRole('checkbox', { name: `Select ${ID}` }).check()
  // This tab does not learn what the other one saves.
  await page.route('**/api/stream**', (route) => route.abort())
  const add = (tag: string) =>
    web.app.call('PATCH', `/api/batches/${ID}`, { token: web.ada.token, body: { add_tags: [tag] } })
  const bar = page.getByRole('toolbar', { name: 'Selected batches' })
  await bar.getByRole('button', { name: /^Tag/ }).click()
  await add('theirs')
  await page.getByLabel('Add tags').fill('mine')
  await page.getByLabel('before').check()
  await page.getByRole('button', { name: 'Change the tags' }).click()
  await expect.poll(tags).toEqual(['mine', 'theirs'])
  await add('theirs too')
  await page.getByRole('button', { name: 'Undo' }).click()
  await expect.poll(tags).toEqual(['before', 'theirs', 'theirs too'])
  expect(complaints).toEqual([])
  await context.close()
})

test.each([
  ['a b,c', ['a', 'b', 'c']],
  [' a ,, a ', ['a']],
  ['"a b" c', ['a b', 'c']],
  ['', []],
  ['"" x', ['x']],
  ['"5"" disk" "a,b" "say ""yes"""', ['5" disk', 'a,b', 'say "yes"']],
])('tags of %s', (text, tags) => {
  expect(tagsIn(text)).toEqual(tags)
  expect(tagsIn(tagsText(tags))).toEqual(tags)
})
