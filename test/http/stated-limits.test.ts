import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { CONFIG_KEYS } from '../../src/config.ts'
import { LINK_DAYS, PER_ADDRESS } from '../../src/domain/addresses/confirmations.ts'
import { EXPIRES_MS, ONLINE_MS, POLL_INTERVAL_S } from '../../src/domain/agents/agent.ts'
import { MAX_LABEL } from '../../src/domain/batches/details.ts'
import { MAX_NAME } from '../../src/domain/events/series.ts'
import { CHALLENGE_LIFE_S, MAX_TRIES } from '../../src/domain/factors/challenges.ts'
import { RECOVERY_CODES } from '../../src/domain/factors/writes.ts'
import { ATTEMPT_LIFE_S } from '../../src/domain/identities/attempts.ts'
import { MAX_CHANNELS } from '../../src/domain/live/channel.ts'
import { MAX_AGE_MS } from '../../src/domain/live/live.ts'
import { MIN_LOW_SAMPLES } from '../../src/domain/liveness.ts'
import { MAX_RULES } from '../../src/domain/notifications/writes.ts'
import { MAX_PASSKEYS } from '../../src/domain/passkeys/passkeys.ts'
import { IDLE_BELOW_PCT } from '../../src/domain/resources/gpu.ts'
import { ABSOLUTE_S, IDLE_S, JWT_LIFE_S } from '../../src/domain/sessions/session.ts'
import { MAX_POINTS_ANSWERED } from '../../src/graphql/context.ts'
import { LIMITS } from '../../src/graphql/limits.ts'
import { DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE } from '../../src/graphql/paging.ts'
import { TIMES } from '../../src/graphql/sse.ts'
import { MAX_BYTES as STREAM_BYTES } from '../../src/graphql/sse-stream.ts'
import { MAX_JOBS } from '../../src/http/request/names.ts'
import { pageQuery } from '../../src/http/request/page.ts'
import { MAX_CLIPPED } from '../../src/http/series/metrics.ts'
import { MAX_OPEN_BYTES, MAX_OTHER_BYTES } from '../../src/http/server/body.ts'
import { MIN_BYTES } from '../../src/http/server/compress.ts'
import { CODES_PER_HOUR } from '../../src/http/sign-in/sign-in-limiter.ts'
import { MAX_BYTES as GRAPHQL_BYTES } from '../../src/http/streams/graphql.ts'
import { MAX_DEPTH, MAX_EVENT_BYTES } from '../../src/ingest/envelope.ts'
import { MAX_AHEAD_MS } from '../../src/ingest/receipt-clock.ts'
import { MAX_EVENTS } from '../../src/ingest/receive.ts'
import { PROBLEMS } from '../../src/problem.ts'
import { KEPT_HOURS } from '../../src/stream/prune.ts'

/** The limits that docs/api.md and docs/contract.md state, compared with those of the code. */
const page = (name: string): string =>
  readFileSync(join(import.meta.dirname, '../../docs', `${name}.md`), 'utf8').replace(/\s+/g, ' ')
const PAGES = { api: page('api'), contract: page('contract') }

const KIB = 1024
const MIB = 1024 * KIB
const setting = (name: keyof typeof CONFIG_KEYS): number => Number(CONFIG_KEYS[name].fallback)
const SMALL = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten']
const numberOf = (text: string): number =>
  SMALL.includes(text) ? SMALL.indexOf(text) : Number(text.replaceAll(',', ''))

/** The sentence of a page with `#` for each number, and the numbers in the code. */
const STATED: readonly [page: keyof typeof PAGES, sentence: string, ...numbers: number[]][] = [
  ['api', 'Answers to reads longer than # KiB', MIN_BYTES / KIB],
  ['api', 'takes one event, `POST /api/events/batch` an array of up to #', MAX_EVENTS],
  ['api', 'empty or longer than # characters', MAX_NAME],
  ['api', '(`SVC_MAX_SERIES_PER_JOB`, #)', setting('SVC_MAX_SERIES_PER_JOB')],
  ['api', 'cut at # characters', MAX_LABEL],
  ['api', 'a cookie of # minutes', ATTEMPT_LIFE_S / 60],
  ['api', 'answers # recovery codes', RECOVERY_CODES],
  ['api', '`expires_at` (# minutes)', CHALLENGE_LIFE_S / 60],
  ['api', 'a challenge takes # tries', MAX_TRIES],
  ['api', '(# for codes)', CODES_PER_HOUR],
  ['api', 'at most # in a day (429)', PER_ADDRESS.day],
  ['api', 'once, within # days', LINK_DAYS],
  ['api', 'after `SVC_LOST_AFTER_MIN` (#)', setting('SVC_LOST_AFTER_MIN')],
  ['api', 'at least # samples', MIN_LOW_SAMPLES],
  ['api', 'For the first # series', MAX_CLIPPED],
  ['api', 'for at most # jobs by their `key`', MAX_JOBS],
  ['api', '`first` (#', DEFAULT_PAGE_SIZE],
  ['api', 'holds at most # points', MAX_POINTS_ANSWERED],
  ['api', 'A body of # MiB, # tokens', LIMITS.bodyBytes / MIB, LIMITS.tokens],
  ['api', '# levels, # aliases, # directives', LIMITS.depth, LIMITS.aliases, LIMITS.directives],
  ['api', 'a cost of #', LIMITS.cost],
  ['api', 'at most #) answers with server-sent events', MAX_CHANNELS],
  ['api', 'kept for # hours', KEPT_HOURS],
  ['api', 'ends after # hours', MAX_AGE_MS / 3_600_000],
  ['api', 'at most about # kB for each client', STREAM_BYTES / KIB],
  ['api', 'reads nothing for # s', TIMES.stallMs / 1000],
  ['api', 'A comment every # s', TIMES.pingMs / 1000],
  ['api', '| Events in one array | # |', MAX_EVENTS],
  ['api', '| One event | # KiB of JSON |', MAX_EVENT_BYTES / KIB],
  ['api', '| Nesting of an event | # levels |', MAX_DEPTH],
  ['api', '(`SVC_MAX_BODY_BYTES`) | # MiB', setting('SVC_MAX_BODY_BYTES') / MIB],
  ['api', '| Request body of other REST routes | # MiB; # KiB', MAX_OTHER_BYTES / MIB, MAX_OPEN_BYTES / KIB],
  ['contract', 'of another route at most # MiB, or # KiB', MAX_OTHER_BYTES / MIB, MAX_OPEN_BYTES / KIB],
  ['api', '| Request body of GraphQL | # MiB |', GRAPHQL_BYTES / MIB],
  ['api', '(`SVC_RATE_LIMIT_EVENTS_PER_S`) | # on average', setting('SVC_RATE_LIMIT_EVENTS_PER_S')],
  ['api', '# at once (`SVC_RATE_LIMIT_BURST`)', setting('SVC_RATE_LIMIT_BURST')],
  ['api', '(`SVC_MAX_SERIES_PER_JOB`) | #', setting('SVC_MAX_SERIES_PER_JOB')],
  ['api', '| Name of a series | # characters |', MAX_NAME],
  [
    'api',
    '| Nodes in one page of a GraphQL connection | # (# by default); # jobs; # log lines; # reports |',
    MAX_PAGE_SIZE.batches,
    DEFAULT_PAGE_SIZE,
    MAX_PAGE_SIZE.jobs,
    MAX_PAGE_SIZE.logLines,
    MAX_PAGE_SIZE.reports,
  ],
  ['api', '| Cost of a GraphQL query | # |', LIMITS.cost],
  ['api', '| Points in one GraphQL answer | # |', MAX_POINTS_ANSWERED],
  ['api', '| Channels of one stream | # |', MAX_CHANNELS],
  ['api', '(`SVC_MAX_STREAMS_PER_ADDRESS`) | # |', setting('SVC_MAX_STREAMS_PER_ADDRESS')],
  ['api', '(`SVC_MAX_REQUESTS_PER_ADDRESS`) | # |', setting('SVC_MAX_REQUESTS_PER_ADDRESS')],
  ['api', '(`SVC_REGISTRATIONS_PER_HOUR`) | # |', setting('SVC_REGISTRATIONS_PER_HOUR')],
  ['api', '(`SVC_MAX_TOKENS_PER_USER`) | # |', setting('SVC_MAX_TOKENS_PER_USER')],
  ['api', '(`SVC_MAX_AGENTS_PER_USER`) | # |', setting('SVC_MAX_AGENTS_PER_USER')],
  ['api', '(`SVC_MAX_PROJECTS_PER_USER`) | # |', setting('SVC_MAX_PROJECTS_PER_USER')],
  ['api', '(`SVC_MAX_SHARES_PER_USER`) | # |', setting('SVC_MAX_SHARES_PER_USER')],
  ['api', '(`SVC_MAX_VIEWS_PER_USER`) | # |', setting('SVC_MAX_VIEWS_PER_USER')],
  ['api', '(`SVC_MAX_REPORTS_PER_USER`) | # |', setting('SVC_MAX_REPORTS_PER_USER')],
  ['api', '| Rules of one project | # |', MAX_RULES],
  ['api', '| Passkeys of one account | # |', MAX_PASSKEYS],
  ['api', '(`SVC_READ_TIMEOUT_S`) | # s |', setting('SVC_READ_TIMEOUT_S')],
  ['contract', 'an array of at most #', MAX_EVENTS],
  ['contract', 'nesting deeper than # is 422', MAX_DEPTH],
  ['contract', 'longer than # characters', MAX_NAME],
  ['contract', '`SVC_MAX_SERIES_PER_JOB` (#)', setting('SVC_MAX_SERIES_PER_JOB')],
  ['contract', 'at most # KiB of JSON', MAX_EVENT_BYTES / KIB],
  ['contract', '`SVC_MAX_BODY_BYTES` (# MiB)', setting('SVC_MAX_BODY_BYTES') / MIB],
  ['contract', '`SVC_RATE_LIMIT_EVENTS_PER_S` (#)', setting('SVC_RATE_LIMIT_EVENTS_PER_S')],
  ['contract', '`SVC_RATE_LIMIT_BURST` (#)', setting('SVC_RATE_LIMIT_BURST')],
  ['contract', '`SVC_REGISTRATIONS_PER_HOUR` (#)', setting('SVC_REGISTRATIONS_PER_HOUR')],
  ['contract', 'more than # minutes ahead of receipt', MAX_AHEAD_MS / 60_000],
  ['contract', 'valid for # hours', JWT_LIFE_S / 3600],
  ['contract', '(# days idle, # days at most)', IDLE_S / 86_400, ABSOLUTE_S / 86_400],
  ['contract', 'pending for # hours', EXPIRES_MS / 3_600_000],
  ['contract', 'online for # s after a sign of life', ONLINE_MS / 1000],
  ['contract', '`poll_interval_s` is #', POLL_INTERVAL_S],
  ['contract', 'repeated `channel=` (at most #)', MAX_CHANNELS],
  ['contract', 'change log (# hours)', KEPT_HOURS],
  ['contract', 'A comment is sent every # s', TIMES.pingMs / 1000],
  ['contract', 'a body of # MiB', GRAPHQL_BYTES / MIB],
  ['contract', '# tokens, # levels, # aliases, # directives and a cost of #', ...graphqlLimits()],
  ['contract', '`SVC_LOST_AFTER_MIN` (#)', setting('SVC_LOST_AFTER_MIN')],
  ['contract', '`SVC_STALL_TIMEOUT_MIN` (#)', setting('SVC_STALL_TIMEOUT_MIN')],
  ['contract', '`SVC_IDLE_JOB_THRESHOLD_MIN` (#)', setting('SVC_IDLE_JOB_THRESHOLD_MIN')],
  ['contract', 'GPU use stays below #%', IDLE_BELOW_PCT],
  ['contract', 'over at least # samples', MIN_LOW_SAMPLES],
  ['contract', '`SVC_RETENTION_LOG_LINE_DAYS` (#)', setting('SVC_RETENTION_LOG_LINE_DAYS')],
  ['contract', '`SVC_RETENTION_DELETED_DAYS` (#)', setting('SVC_RETENTION_DELETED_DAYS')],
]

function graphqlLimits(): number[] {
  const { tokens, depth, aliases, directives, cost } = LIMITS
  return [tokens, depth, aliases, directives, cost]
}

const NUMBER = `(\\d[\\d,]*|${SMALL.join('|')})`
const patternOf = (sentence: string): RegExp =>
  new RegExp(sentence.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('#', NUMBER), 'g')

test.each(STATED)('docs/%s.md: "%s" has the numbers of the code', (name, sentence, ...numbers) => {
  const found = [...PAGES[name].matchAll(patternOf(sentence))].map((match) => match.slice(1).map(numberOf))
  expect(found.length).toBeGreaterThan(0)
  for (const stated of found) expect(stated).toEqual(numbers)
})

test('the page size stated in both documents is that of every list', () => {
  for (const text of Object.values(PAGES))
    expect(text).toMatch(/`limit` (is )?1 to 500 \((default 50|50 without it)\)/)
  expect(PAGES.api).toContain('| Items in one page of a REST list | 500 (50 by default) |')
  expect(pageQuery.limit.parse(undefined)).toBe(50)
  expect(pageQuery.limit.safeParse('500').success).toBe(true)
  expect(pageQuery.limit.safeParse('501').success).toBe(false)
})

test('every GraphQL connection has the page size stated in the table', () => {
  const named = ['jobs', 'logLines', 'reports']
  const others = Object.entries(MAX_PAGE_SIZE).filter(([name]) => !named.includes(name))
  expect(new Set(others.map(([, size]) => size))).toEqual(new Set([MAX_PAGE_SIZE.batches]))
})

test('every code in the table of limits is an error code with that status', () => {
  const rows = [...PAGES.api.matchAll(/(\d{3}) `(\w+)` \|/g)].map(([, status, code]) => [
    code,
    Number(status),
  ])
  expect(rows.length).toBeGreaterThan(10)
  const known = new Map(Object.entries(PROBLEMS).map(([code, [status]]) => [code, status]))
  for (const [code, status] of rows) expect([code, known.get(code as string)]).toEqual([code, status])
})
