// Every page of the service with what it needs to show something: for pictures (screenshots.ts) and for what must hold on
// all of them (test/web/every-page.page.test.ts).
import type { Page } from '@playwright/test'
import type { Scene } from './scene.ts'

export interface ScenePage {
  name: string
  path: string
  /** What must be shown or done before it is looked at. */
  before?: (page: Page) => Promise<unknown>
  /** Without signing in. */
  visitor?: boolean
  /** The rules of axe that a library breaks on this page. */
  brokenByLibrary?: readonly string[]
}

/** A chart comes once it is near the screen, which on a phone it may not be. */
export async function drawn(page: Page): Promise<void> {
  await page.waitForFunction(() => {
    if (document.querySelector('[data-chart]') !== null) return true
    document.querySelector('main')?.scrollBy(0, 200)
    return false
  })
  await page.locator('[data-chart]').first().scrollIntoViewIfNeeded()
  await page.locator('[data-points]').first().waitFor()
  await page.evaluate(() => document.querySelector('main')?.scrollTo(0, 0))
}

/** Makes what only some pages show: an agent, a link, rules, a stop; answers where everything is. */
export async function allPages(scene: Scene): Promise<ScenePage[]> {
  const { call } = scene
  const agent = await call<{ agent_id: string; agent_token: string }>('POST', '/api/agents/register', {
    hostname: 'trainer',
    capabilities: { gpus: 2 },
    version: '0.2.0',
  })
  await call('POST', `/api/agents/${agent.agent_id}/heartbeat`, { running: [] }, agent.agent_token)
  const share = await call<{ token: string }>('POST', '/api/batches/digits-sweep/shares', {})
  const rules = '/api/projects/digits/rules'
  await call('POST', rules, { trigger: 'job_failed', name: 'A job failed', cooldown_s: 600 })
  await call('POST', rules, {
    trigger: 'metric',
    name: 'Diverged',
    condition: { key: 'val_loss', op: 'is_nan' },
    cooldown_s: 3600,
    recipients: ['team@example.com', 'night@example.com', 'demo@example.com'],
  })
  await call('POST', rules, { trigger: 'batch_stalled', enabled: false })
  await call('PATCH', '/api/batches/digits-sweep', { tags: ['night', 'baseline'], notes: 'The reference.' })
  await call('POST', '/api/batches/digits-live/stop')
  const { id: report } = await call<{ id: string }>('POST', '/api/reports', {
    project: 'digits',
    title: 'What the width of the network buys',
    body: [
      'Wider networks reach a lower **validation loss**, and fail less often.',
      '@batch(digits-sweep)',
      '@chart(digits-sweep, val_loss)',
      '## Every job',
      '@jobs(digits-sweep)',
    ].join('\n\n'),
  })
  await call('DELETE', '/api/batches/digits-wide')
  const press = (name: string | RegExp) => (page: Page) =>
    page
      .getByRole('button', { name, exact: typeof name === 'string' })
      .first()
      .click()
  const batch = '/b/digits-sweep'
  return [
    { name: 'sign-in', path: '/sign-in', visitor: true },
    { name: 'register', path: '/register', visitor: true },
    { name: 'home', path: '/' },
    { name: 'home-found', path: '/?q=status%3Acompleted%20val_loss%3C0.1' },
    { name: 'trash', path: '/trash' },
    { name: 'reports', path: '/p/digits/reports' },
    { name: 'report', path: `/r/${report}`, before: drawn },
    { name: 'report-new', path: '/p/digits/reports?about=%5B%22digits-sweep%22%5D', before: drawn },
    { name: 'logs-context', path: '/b/digits-sweep/logs?q=better&context=true&wrap=true' },
    { name: 'help', path: '/b/digits-live', before: press(/What is this/) },
    { name: 'connect', path: '/connect' },
    { name: 'project', path: '/p/digits' },
    { name: 'project-charts', path: '/p/digits?charts=%7B%7D', before: drawn },
    { name: 'project-none', path: '/p/digits?q=status:lost' },
    { name: 'project-columns', path: '/p/digits', before: press('Columns') },
    {
      name: 'project-tags',
      path: '/p/digits?q=status%3Acompleted',
      before: async (page) => {
        await page.getByLabel('Select digits-sweep').check()
        // On a phone it is in a menu.
        const more = page
          .getByRole('toolbar', { name: 'Selected batches' })
          .getByRole('button', { name: 'More' })
        if (await more.isVisible()) {
          await more.click()
          await page.getByRole('menuitem', { name: 'Tag' }).click()
        } else await press('Tag')(page)
        await page.getByLabel('Add tags').waitFor()
      },
    },
    { name: 'rules', path: '/p/digits/rules' },
    {
      name: 'rule-form',
      path: '/p/digits/rules',
      before: async (page) => {
        await press('New rule')(page)
        await page.getByLabel('Mail when').selectOption('metric')
        await page.getByLabel('Series').fill('val_loss')
        await page.getByText(/would have mailed \d/).waitFor()
      },
    },
    { name: 'members', path: '/p/digits/members' },
    { name: 'charts', path: batch, before: drawn },
    {
      name: 'charts-colour',
      path: batch,
      before: async (page) => {
        // On a phone the legend opens from a button.
        if ((page.viewportSize()?.width ?? 0) < 800) await press(/^\d+ jobs$/)(page)
        await press(/^Colour of /)(page)
      },
    },
    { name: 'charts-grouped', path: `${batch}?smooth=0.5&clip=0.05&group=param.lr`, before: press('Range…') },
    { name: 'jobs', path: `${batch}/jobs` },
    { name: 'sweep', path: `${batch}/sweep` },
    { name: 'logs', path: `${batch}/logs` },
    { name: 'resources', path: `${batch}/resources` },
    { name: 'timeline', path: `${batch}/timeline` },
    { name: 'delivery', path: `${batch}/delivery` },
    { name: 'environment', path: `${batch}/environment` },
    { name: 'more', path: batch, before: press('More') },
    { name: 'rerun', path: batch, before: press('Rerun') },
    { name: 'share-dialog', path: batch, before: press('Share') },
    { name: 'failed', path: '/b/digits-steps' },
    { name: 'stopping', path: '/b/digits-live' },
    { name: 'job', path: `${batch}/j/h128-lr0.5-seed0` },
    { name: 'compare', path: '/compare?batches=digits-narrow&batches=digits-sweep', before: drawn },
    { name: 'hosts', path: '/hosts' },
    { name: 'host', path: `/hosts/${agent.agent_id}` },
    { name: 'tokens', path: '/tokens' },
    { name: 'account', path: '/account' },
    { name: 'share', path: `/s/${share.token}`, visitor: true, before: drawn },
    { name: 'admin-users', path: '/admin/users' },
    { name: 'admin-agents', path: '/admin/agents' },
    { name: 'admin-keys', path: '/admin/keys' },
    { name: 'admin-audit', path: '/admin/audit' },
    { name: 'missing', path: '/no/such/page' },
    { name: 'missing-batch', path: '/b/no-such-batch' },
    { name: 'palette', path: '/', before: (page) => page.keyboard.press('Control+k') },
    { name: 'keys', path: '/', before: (page) => page.keyboard.press('?') },
    {
      name: 'api',
      path: '/api/docs',
      before: (page) => page.locator('.opblock').first().waitFor(),
      brokenByLibrary: ['nested-interactive'],
    },
    {
      name: 'graphql',
      path: '/graphql',
      before: (page) => page.locator('.CodeMirror-code', { hasText: 'query Best' }).waitFor(),
      brokenByLibrary: ['nested-interactive', 'scrollable-region-focusable'],
    },
    { name: 'docs', path: '/docs/' },
    { name: 'docs-operations', path: '/docs/operations' },
  ]
}
