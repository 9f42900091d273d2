import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { removeTemporary, thenEnd } from '../../src/db/clean-up.ts'

const fail = (text: string) => async (): Promise<never> => Promise.reject(new Error(text))

test('what ends badly after an error is logged, and the error stays', async () => {
  const said: string[] = []
  const log = (message: string): void => void said.push(message)
  await expect(thenEnd(fail('the cause'), fail('the end'), log)).rejects.toThrow('the cause')
  expect(said).toEqual(['the end'])
  await expect(thenEnd(async () => 1, fail('the end'), log)).rejects.toThrow('the end')
  let ended = 0
  expect(
    await thenEnd(
      async () => 1,
      () => ++ended,
      log,
    ),
  ).toBe(1)
  await expect(thenEnd(fail('the cause'), () => ++ended, log)).rejects.toThrow('the cause')
  expect([ended, said]).toEqual([2, ['the end']])
})

test('a temporary folder that cannot be removed is logged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-clean-up-'))
  const file = join(folder, 'file')
  writeFileSync(file, '')
  const said: string[] = []
  const log = (message: string): void => void said.push(message)
  removeTemporary(join(file, 'below'), log)
  expect(said).toEqual([expect.stringMatching(/below could not be removed: ENOTDIR/)])
  removeTemporary(folder, log)
  removeTemporary(folder, log)
  expect([existsSync(folder), said.length]).toEqual([false, 1])
})
