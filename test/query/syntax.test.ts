import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse, print, type Query, termsOf } from '../../src/query/index.ts'

/** Without positions. */
const bare = (query: Query | null): unknown =>
  JSON.parse(JSON.stringify(query, (key, value) => (key === 'from' || key === 'to' ? undefined : value)))
const read = (text: string): unknown => {
  const { query, fault } = parse(text)
  expect(fault, text).toBeNull()
  return bare(query)
}
const is = (name: string, op: string, value: string) => ({ kind: 'is', name, op, value })
const words = (text: string) => ({ kind: 'words', text })
const and = (...parts: unknown[]) => ({ kind: 'and', parts })
const or = (...parts: unknown[]) => ({ kind: 'or', parts })
const not = (part: unknown) => ({ kind: 'not', part })

describe('a query', () => {
  test.each<[string, unknown]>([
    ['', null],
    ['  ', null],
    ['lr<0.01', is('lr', 'lt', '0.01')],
    [' lr < 0.01 ', is('lr', 'lt', '0.01')],
    ['n==10', is('n', 'eq', '10')],
    ['b=True', is('b', 'eq', 'True')],
    ['lr:"1e-2"', is('lr', 'has', '1e-2')],
    ['"avg model score">0.5', is('avg model score', 'gt', '0.5')],
    ['"gpu:0">0.5', is('gpu:0', 'gt', '0.5')],
    ['"a<b">=1', is('a<b', 'ge', '1')],
    ['param."avg score"!=2', is('param.avg score', 'ne', '2')],
    ['"say \\"hi\\" \\\\"=1', is('say "hi" \\', 'eq', '1')],
    ['name="C:\\dir"', is('name', 'eq', 'C:\\dir')],
    ['note=""', is('note', 'eq', '')],
    ['tag:a:b', is('tag', 'has', 'a:b')],
    ['tag:a=b', is('tag', 'has', 'a=b')],
    ['started_at>2026-11-26T10:00:00Z', is('started_at', 'gt', '2026-11-26T10:00:00Z')],
    ['res net', and(words('res'), words('net'))],
    ['"res net" lr<1', and(words('res net'), is('lr', 'lt', '1'))],
    ['resnet(50) f(x)=2', and(words('resnet(50)'), is('f(x)', 'eq', '2'))],
    ['(f(x)=2)', is('f(x)', 'eq', '2')],
    ['a<1 OR b<2 c<3', or(is('a', 'lt', '1'), and(is('b', 'lt', '2'), is('c', 'lt', '3')))],
    ['(a<1 OR b<2) AND c<3', and(or(is('a', 'lt', '1'), is('b', 'lt', '2')), is('c', 'lt', '3'))],
    ['NOT a<1 b<2', and(not(is('a', 'lt', '1')), is('b', 'lt', '2'))],
    ['NOT (a<1 b<2)', not(and(is('a', 'lt', '1'), is('b', 'lt', '2')))],
    ['a<1 AND NOT NOT b<2', and(is('a', 'lt', '1'), not(not(is('b', 'lt', '2'))))],
    ['"OR" "and"', and(words('OR'), words('and'))],
    ['cats and dogs', and(words('cats'), words('and'), words('dogs'))],
    ['smile:)', is('smile', 'has', ')')],
  ])('%s is understood', (text, wanted) => {
    expect(read(text)).toEqual(wanted)
  })

  test.each<[string, number, string]>([
    ['lr<', 0, 'lr< needs a value, such as lr<0.1'],
    ['status:', 0, 'such as status:failed'],
    ['a<1 <3', 4, 'A name is missing before <'],
    ['lr=<0.1', 0, 'did you mean lr<=0.1?'],
    ['lr<>0.1', 0, 'did you mean lr<0.1?'],
    ['a<1 gpu:0>0.5', 4, 'quote a name with a colon, "gpu:0">0.5'],
    ['0<lr<1', 0, 'has two operators'],
    ['a<1 "open', 4, 'is not closed'],
    ['a="open', 2, 'is not closed'],
    ['a=o"pen"', 0, 'is not closed'],
    ['"a"b', 3, 'Put a space after the quotation mark'],
    ['tag:"a"b', 7, 'Put a space after the quotation mark'],
    ['tag:""', 0, 'needs a value'],
    ['""', 0, 'The quotation marks are empty'],
    ['a<1 OR', 6, 'A condition is missing after OR'],
    ['a<1 AND OR b<1', 8, 'A condition is missing after AND'],
    ['OR a<1', 0, 'A condition is missing here'],
    ['NOT', 3, 'A condition is missing after NOT'],
    ['()', 1, 'A condition is missing in the brackets'],
    ['(a<1', 0, 'This bracket is not closed'],
    ['a<1 )', 4, 'This bracket closes nothing'],
    ['a<1 or b<2', 4, 'Write OR in capitals'],
    ['not (a<1)', 0, 'Write NOT in capitals'],
    [`${'x '.repeat(2_049)}`, 4_096, 'at most 4096 characters'],
    [`${'x '.repeat(51)}`, 100, 'at most 50 conditions'],
    [`${'('.repeat(21)}a${')'.repeat(21)}`, 20, 'at most 20 deep'],
    [`${'NOT '.repeat(21)}a`, 80, 'at most 20 deep'],
  ])('%s is refused at its fault', (text, from, message) => {
    const { query, fault } = parse(text)
    expect(query).toBeNull()
    expect(fault?.message).toContain(message)
    expect(fault?.from).toBe(from)
  })
})

const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((one) => one.trim() !== '')
const tricky = fc.oneof(
  text,
  fc.constantFrom('OR', 'not', 'a b', 'gpu:0', 'a"b', '\\', '(', 'f(x)', '<=', 'lr'),
)
const term: fc.Arbitrary<Query> = fc.oneof(
  tricky.map((word): Query => ({ kind: 'words', text: word, from: 0, to: 0 })),
  fc
    .tuple(tricky, fc.constantFrom('has', 'eq', 'ne', 'lt', 'le', 'gt', 'ge' as const), tricky)
    .map(([name, op, value]) => ({ kind: 'is', name, op, value, from: 0, to: 0 }) as Query),
)
const { tree } = fc.letrec<{ tree: Query }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    term,
    tie('tree').map((part): Query => ({ kind: 'not', part })),
    fc
      .tuple(
        fc.constantFrom('and' as const, 'or' as const),
        fc.array(tie('tree'), { minLength: 2, maxLength: 3 }),
      )
      .map(
        ([kind, parts]): Query => ({
          kind,
          parts: parts.flatMap((part) => (part.kind === kind ? part.parts : [part])),
        }),
      ),
  ),
}))

test('what is printed is parsed to the same query', () => {
  fc.assert(
    fc.property(
      tree.filter((one) => termsOf(one).length <= 50),
      (query) => {
        const printed = print(query)
        expect(parse(printed).fault, printed).toBeNull()
        expect(bare(parse(printed).query), printed).toEqual(bare(query))
      },
    ),
    { numRuns: 500 },
  )
})

test('any text is a query or has one fault within it, and every term is where its span says', () => {
  const pieces = fc.array(
    fc.constantFrom(
      ...['a', 'lr', '"', '\\', '(', ')', ' ', 'OR', 'AND', 'NOT', '<', '=', ':', '!', '0.1', 'é', '😀'],
    ),
    { maxLength: 40 },
  )
  fc.assert(
    fc.property(
      fc.oneof(
        pieces.map((all) => all.join('')),
        fc.string({ unit: 'binary' }),
      ),
      (any) => {
        const { query, fault } = parse(any)
        if (fault !== null) {
          expect(query).toBeNull()
          expect(fault.from).toBeGreaterThanOrEqual(0)
          expect(fault.from).toBeLessThanOrEqual(fault.to)
          expect(fault.to).toBeLessThanOrEqual(any.length)
        }
        for (const { from, to, ...one } of termsOf(query)) {
          const [again] = termsOf(parse(any.slice(from, to)).query)
          const { from: _, to: __, ...same } = again ?? { from: 0, to: 0 }
          expect(same).toEqual(one)
        }
      },
    ),
    { numRuns: 1_500 },
  )
})
