import { expect, test } from 'vitest'
import { diffBetween, gitDiffOf, joinGitDiff } from '../../web/src/lib/git-diff.ts'

test('the last line of a diff that was cut says so', () => {
  expect(gitDiffOf('+a\n')).toEqual({ text: '+a\n', isCut: false })
  const cut = '+a\n+b\n# cut: the first 1,048,576 of 2,000,000 bytes are kept\n'
  expect(gitDiffOf(cut)).toEqual({ text: '+a\n+b', isCut: true })
})

test('of several starts the last complete diff is used; other lines about diffs are ignored', () => {
  const head = 'git diff against HEAD: 4 bytes in 2 parts'
  const whole = [head, 'git diff, part 1 of 2\n+a\n', 'git diff, part 2 of 2\n+b\n']
  expect(joinGitDiff([])).toBe(null)
  expect(joinGitDiff(whole)).toEqual({ text: '+a\n+b\n', isCut: false })
  expect(joinGitDiff([...whole, head, 'git diff, part 1 of 2\n+new\n'])?.text).toBe('+a\n+b\n')
  expect(
    joinGitDiff([...whole, head, 'about git diff, part 1 of 1\n', 'git diff, part 2 of 2\n+b'])?.text,
  ).toBe('+a\n+b\n')
  const cut = 'git diff against HEAD: 2,000,000 bytes in 1 parts, of which the first 1,048,576 bytes are kept'
  expect(joinGitDiff([cut, 'git diff, part 1 of 1\n+a'])).toEqual({ text: '+a', isCut: true })
})

test('a comparison of two diffs shows only their differences, with context lines', () => {
  expect(diffBetween('+a\n', '+a\n')).toEqual([])
  const lines = Array.from({ length: 20 }, (_, i) => `+line ${i}`)
  const between = diffBetween(
    `${lines.join('\n')}\n`,
    `${lines.map((line) => line.replace('line 9', 'other')).join('\n')}\n`,
  )
  expect(between[0]).toBe('@@ -7,7 +7,7 @@')
  expect(between.filter((line) => !line.startsWith(' '))).toEqual([between[0], '-+line 9', '++other'])
  expect(diffBetween('', '+a\n').filter((line) => line.startsWith('+'))).toEqual(['++a'])
})
