import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'

/** What a log writes to a stream, which is a terminal or not. */
function logged(format: string | undefined, isTTY: boolean) {
  const written: string[] = []
  const to = { isTTY, write: (text: string) => written.push(text) } as unknown as NodeJS.WritableStream
  const { config } = readConfig(format === undefined ? {} : { SVC_LOG_FORMAT: format })
  return { ...createLog(config, to), text: () => written.join('') }
}

test('a terminal gets text: time, level, message, fields and the stack of an error', () => {
  const { log, text } = logged(undefined, true)
  log.info({ rows: 3, of: { kind: 'lines' } }, 'swept')
  log.error({ err: new TypeError('no rows') }, 'the sweep failed')
  const [swept, failed, ...stack] = text().trimEnd().split('\n')
  expect(swept).toMatch(/^\d\d:\d\d:\d\d swept rows=3 of=\{"kind":"lines"\}$/)
  expect(failed).toMatch(/^\d\d:\d\d:\d\d error the sweep failed$/)
  expect(stack[0]).toBe('TypeError: no rows')
  expect(stack[1]).toMatch(/^ +at /)
})

test('files and pipes get JSON, and SVC_LOG_FORMAT overrides both', () => {
  for (const [format, isTTY] of [
    [undefined, false],
    ['json', true],
  ] as const) {
    const { log, text } = logged(format, isTTY)
    log.info('started')
    expect(JSON.parse(text())).toMatchObject({ level: 30, msg: 'started' })
  }
  const { log, text } = logged('text', false)
  log.warn('late')
  expect(text()).toMatch(/^\d\d:\d\d:\d\d warning late\n$/)
})

test('logged text cannot control the terminal, and secrets are removed', () => {
  const { log, text } = logged(undefined, true)
  const token = `em_live_${'a'.repeat(43)}`
  log.info({ path: '/\u001b]0;title\u0007', token }, 'request\u001b[2J')
  log.error({ err: new Error('first\u001b[31m\nsecond') }, 'failed')
  expect(text().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
  expect(text()).toContain('\\u001b[2J')
  expect(text()).not.toContain(token)
})
