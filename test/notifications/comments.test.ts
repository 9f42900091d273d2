import { afterAll, beforeAll, expect, test } from 'vitest'
import { namesIn } from '../../src/domain/comments/mentions.ts'
import { openStage, type Person, type Stage, startOf } from '../http/stage.ts'
import { makeEvent } from '../ingest/sending.ts'
import { type Message, openStream } from '../live/stream.ts'
import { ANY_MAIL, type Mailbox, openMailbox } from './mailbox.ts'

// Comments with mentions, and the bell (docs/comments.md), with a real mail server.

let box: Mailbox
let stage: Stage
beforeAll(async () => {
  box = await openMailbox()
  stage = await openStage({ smtp: { url: box.url, from: 'monitor@example.org' }, mail: ANY_MAIL })
  await stage.send(stage.batchOwner, [
    startOf({ id: 'talked', project: 'vision' }),
    startOf({ id: 'in the open', project: 'open' }),
  ])
})
afterAll(async () => {
  await stage?.stop()
  await box?.stop()
})

const PATIENT = { timeout: 20_000, interval: 50 }
const COMMENTS = '/api/batches/talked/comments'
const call = (person: Person | undefined, method: string, path: string, body?: unknown) =>
  stage.app.call(method, path, {
    ...(person && { token: person.token }),
    ...(body !== undefined && { body }),
  })
const say = async (person: Person, body: string, path = COMMENTS) => {
  const made = await call(person, 'POST', path, { body })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return made.body
}
/** What the bell has, newest first: the kind, and the text of the comment or the name of the rule. */
const bell = async (person: Person): Promise<(string | null)[][]> =>
  (await call(person, 'GET', '/api/notices')).body.items.map(
    ({ kind, comment, rule }: { kind: string; comment: { text: string } | null; rule: { name: string } }) => [
      kind,
      comment?.text ?? rule?.name,
    ],
  )
const mentionsMailed = (person: Person): string[] =>
  box
    .to(person.email)
    .flatMap(({ mail }) =>
      /mentions you in a comment on the run “talked”/.test(mail.subject ?? '') ? [mail.text ?? ''] : [],
    )

test.each([
  ['@Ada Lovelace, look', ['ada lovelace, look', 'ada lovelace,', 'ada lovelace', 'ada']],
  ['(@ada)', ['ada)', 'ada']],
  ['mail ada@example.org or /@ada', undefined],
  ['`@ada` and\n```\n@bob\n```', undefined],
])('the names that %j may mention', (text, names) => {
  expect(namesIn(text)[0]).toEqual(names)
})

test('members write comments, readers of the batch read them, and only authors change their words', async () => {
  const first = await say(stage.member, 'Why does it **diverge**?')
  expect(first).toMatchObject({
    body: 'Why does it **diverge**?',
    author: { name: 'member' },
    can_edit: true,
    can_delete: true,
    edited_at: null,
  })
  await say(stage.batchOwner, 'Because of the warm-up')
  const read = await call(stage.viewer, 'GET', `${COMMENTS}?limit=1`)
  expect(read.body.items).toMatchObject([
    { body: 'Because of the warm-up', can_edit: false, can_delete: false },
  ])
  const next = await call(stage.viewer, 'GET', `${COMMENTS}?limit=1&cursor=${read.body.next_cursor}`)
  expect(next.body).toMatchObject({ items: [{ id: first.id }], next_cursor: null })

  const own = `${COMMENTS}/${first.id}`
  expect((await call(stage.owner, 'PATCH', own, { body: 'Never' })).body.code).toBe('forbidden')
  const edited = await call(stage.member, 'PATCH', own, { body: 'Why?' })
  expect([edited.body.body, edited.body.edited_at === null]).toEqual(['Why?', false])
  const other = `/api/batches/${encodeURIComponent('in the open')}/comments/${first.id}`
  expect((await call(stage.member, 'PATCH', other, { body: 'x' })).body.code).toBe('comment_not_found')
  expect((await call(stage.member, 'PATCH', `${COMMENTS}/x`, { body: 'x' })).status).toBe(404)
  expect((await call(stage.owner, 'DELETE', own)).status).toBe(204)
  expect((await call(stage.member, 'DELETE', own)).status).toBe(404)
  const [kept] = await stage.app
    .sql`select body, deleted_at is null standing from comments where id = ${first.id}`
  expect(kept).toEqual({ body: '', standing: false })
  for (const body of ['', ' \n', 'x'.repeat(10_001), '\0'])
    expect((await call(stage.member, 'POST', COMMENTS, { body })).body.code).toBe('invalid_body')
})

test('visitors of a public project read comments without names; a share shows none', async () => {
  const path = `/api/batches/${encodeURIComponent('in the open')}`
  await say(stage.member, 'Seen by @viewer', `${path}/comments`)
  const read = await call(undefined, 'GET', `${path}/comments`)
  expect(read.body.items).toMatchObject([{ body: 'Seen by @viewer', author: null, mentions: [] }])
  const { token } = (await call(stage.batchOwner, 'POST', `${path}/shares`, {})).body
  const query = 'query ($token: String!) { sharedBatch(token: $token) { comments { totalCount } } }'
  const shared = await stage.app.call('POST', '/graphql', { body: { query, variables: { token } } })
  expect(shared.body.data.sharedBatch.comments).toBeNull()

  const visitor = await openStream(stage.app.address, ['batch:in the open'])
  const reader = await openStream(stage.app.address, [`share:${token}`])
  await say(stage.member, 'Live', `${path}/comments`)
  // What comes after it tells that the share had its turn.
  await stage.send(stage.batchOwner, [
    makeEvent('log_line', { batch_id: 'in the open', job_id: 'j', source: { project: 'open' } }),
  ])
  const isOf = (type: string) => (message: Message) => message.data.type === type
  await visitor.find(isOf('comments'))
  await reader.find(isOf('lines'))
  expect(JSON.stringify(visitor.messages)).toContain('Live')
  expect(reader.messages.map(({ data }) => data.type)).not.toContain('comments')
  for (const stream of [visitor, reader]) stream.cut()
})

test('GraphQL has the same comments, of batches and reports', async () => {
  const report = await call(stage.member, 'POST', '/api/reports', { title: 'R', project: 'vision' })
  await say(stage.viewer, 'x', `/api/reports/${report.body.id}/comments`).then(
    () => expect.unreachable('viewers do not write'),
    () => {},
  )
  await say(stage.owner, 'On the report', `/api/reports/${report.body.id}/comments`)
  const query = `query ($report: ID!) {
    report(id: $report) { comments { totalCount edges { node { id body canEdit author { name } } } } }
    batch(id: "talked") { comments(first: 1) { totalCount edges { node { body } } pageInfo { hasNextPage } } }
  }`
  const answer = await stage.app.call('POST', '/graphql', {
    token: stage.member.token,
    body: { query, variables: { report: report.body.id } },
  })
  expect(answer.body.data.report.comments).toMatchObject({
    totalCount: 1,
    edges: [{ node: { body: 'On the report', canEdit: false, author: { name: 'owner' } } }],
  })
  const { items } = (await call(stage.member, 'GET', COMMENTS)).body
  expect(answer.body.data.batch.comments).toMatchObject({
    totalCount: items.length,
    edges: [{ node: { body: items[0].body } }],
  })
  expect(await bell(stage.member)).toEqual([['comment', 'On the report']])
  expect((await call(stage.member, 'DELETE', `/api/reports/${report.body.id}`)).status).toBe(204)
  expect(await bell(stage.member)).toEqual([])
})

test('a mention reaches who sees the project, once, by mail and bell, as the person chooses', async () => {
  const text = 'What do you think, @Viewer and @batch-owner? Not @stranger, and not @member'
  const made = await say(stage.member, text)
  expect(made.mentions).toEqual(['batch-owner', 'member', 'viewer'])
  expect(await bell(stage.viewer)).toContainEqual(['mention', text])
  // Whose batch it is gets one notice, of the mention.
  expect((await bell(stage.batchOwner)).filter(([, what]) => what === text)).toEqual([['mention', text]])
  expect(await bell(stage.stranger)).toEqual([])
  await expect.poll(() => mentionsMailed(stage.viewer).length, PATIENT).toBe(1)
  await expect.poll(() => mentionsMailed(stage.batchOwner).length, PATIENT).toBe(1)
  expect(mentionsMailed(stage.viewer)[0]).toContain('/b/talked/comments')

  const choices = await call(stage.viewer, 'PATCH', '/api/notices/choices', {
    mentions: false,
    mention_mail: false,
  })
  expect(choices.body).toEqual({ rules: true, comments: true, mentions: false, mention_mail: false })
  const edited = await call(stage.member, 'PATCH', `${COMMENTS}/${made.id}`, { body: `${text}. And @owner?` })
  expect(edited.status).toBe(200)
  await say(stage.member, '@viewer once more')
  await say(stage.member, '@owner the last')
  await expect.poll(() => mentionsMailed(stage.owner).length, PATIENT).toBe(2)
  expect((await bell(stage.viewer)).map(([, what]) => what)).not.toContain('@viewer once more')
  expect([mentionsMailed(stage.viewer).length, mentionsMailed(stage.batchOwner).length]).toEqual([1, 1])
  expect([mentionsMailed(stage.member), mentionsMailed(stage.stranger)]).toEqual([[], []])
})

test('a rule that reaches a person rings the bell, and other pages of the person learn that it was read', async () => {
  const rule = { trigger: 'batch_done', name: 'it ended', cooldown_s: 0, personal: true }
  expect((await call(stage.member, 'POST', '/api/projects/vision/rules', rule)).status).toBe(201)
  const common = { batch_id: 'ended', job_id: null, source: { project: 'vision' } }
  await stage.send(stage.batchOwner, [makeEvent('batch_start', common), makeEvent('batch_done', common)])
  await expect.poll(() => bell(stage.member), PATIENT).toContainEqual(['rule', 'it ended'])
  expect(await bell(stage.owner)).not.toContainEqual(['rule', 'it ended'])

  const { items, unread } = (await call(stage.member, 'GET', '/api/notices')).body
  expect([unread, items[0]]).toMatchObject([
    items.length,
    { project: 'vision', batch: { id: 'ended' }, read: false, rule: { trigger: 'batch_done' } },
  ])
  const one = await call(stage.member, 'POST', '/api/notices/read', { ids: [items[0].id] })
  expect(one.body).toEqual({ unread: unread - 1 })
  const all = await call(stage.member, 'POST', '/api/notices/read', { up_to: items[0].id })
  expect(all.body).toEqual({ unread: 0 })
  const theirs = await call(stage.viewer, 'POST', '/api/notices/read', { ids: [items[0].id] })
  expect(theirs.status).toBe(200)
  const told = await stage.app
    .sql`select from changes where channel = 'notices' and ${items[0].id} = any (keys)`
  expect(told.length).toBeGreaterThanOrEqual(2)
})

test('the bell has nothing of what its person no longer sees', async () => {
  await say(stage.member, '@viewer before you left')
  expect((await call(stage.viewer, 'PATCH', '/api/notices/choices', { mentions: true })).status).toBe(200)
  await say(stage.member, '@viewer before you left, again')
  expect(await bell(stage.viewer)).toContainEqual(['mention', '@viewer before you left, again'])
  const left = await call(stage.owner, 'DELETE', `/api/projects/vision/members/${stage.viewer.id}`)
  expect(left.status).toBe(204)
  const open = await bell(stage.viewer)
  expect(open.map(([, what]) => what)).toEqual(['Seen by @viewer'])
  expect((await call(stage.viewer, 'GET', '/api/notices')).body.unread).toBe(1)
})

test('each person follows their own notices alone', async () => {
  const frames: string[] = []
  const stop = new AbortController()
  const answer = await fetch(`${stage.app.address}/api/sse?channels=notices,batch:talked`, {
    headers: { authorization: `Bearer ${stage.owner.token}` },
    signal: stop.signal,
  })
  const following = (async () => {
    for await (const chunk of answer.body as unknown as AsyncIterable<Uint8Array>)
      frames.push(new TextDecoder().decode(chunk))
  })().catch(() => {})
  await say(stage.member, '@batch-owner alone')
  await say(stage.member, '@owner here')
  await expect.poll(() => frames.join(''), PATIENT).toMatch(/"notices":\[.*@owner here/)
  expect(frames.join('')).toMatch(/"comments":\[.*@batch-owner alone/)
  expect(frames.join('')).not.toMatch(/"notices":\[[^\n]*@batch-owner alone/)
  stop.abort()
  await following
  expect((await call(undefined, 'GET', '/api/sse?channels=notices')).status).toBe(403)
  expect((await stage.get('/api/sse?channels=notices', stage.owner.read)).status).toBe(403)
})

test('what was deleted long ago, and notices beyond the newest 500, are swept', async () => {
  const { sql } = stage.app
  await sql`insert into notices (user_id, kind, project_key, comment_id, created_at)
    select ${stage.owner.id}, 'mention', c.project_key, c.id, now() from comments c
    where not exists (select from notices n where n.comment_id = c.id and n.user_id = ${stage.owner.id})`
  await sql`update notices set created_at = now() - interval '91 days' where id = (select max(id) from notices)`
  await sql`update comments set deleted_at = now() - interval '31 days'
    where id = (select min(id) from comments where deleted_at is not null)`
  const left = () =>
    sql`select (select count(*)::int from notices) notices, (select count(*)::int from comments) comments`
  const [before] = await left()
  await stage.app.runTask('sweep')
  const [after] = await left()
  // The notices of a comment go with it.
  expect(after).toMatchObject({ comments: before?.comments - 1 })
  expect(after?.notices).toBeLessThan(before?.notices)
})
