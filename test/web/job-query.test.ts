import { expect, test } from 'vitest'
import { jobNames, namesOf, parseJobQuery } from '../../web/src/lib/job-query.ts'
import { complete, completions, didYouMean } from '../../web/src/lib/query.ts'

type Job = Parameters<NonNullable<ReturnType<typeof parseJobQuery>['matches']>>[0]
const job = (id: string, status: string, params: object, latest: object = {}): Job =>
  ({
    id,
    status,
    params,
    latest,
    metrics: {},
    model: 'resnet 50',
    dataset: null,
    failure_reason: null,
    tags: id === 'b' ? ['Night', 'best one'] : [],
    epochs: 3,
  }) as unknown as Job
const JOBS = [
  job('a', 'completed', { lr: 0.001, optimizer: 'sgd' }, { val_loss: 0.2 }),
  job('b', 'failed', { lr: 0.1, optimizer: 'sgd' }, { val_loss: 'NaN' }),
  job('c', 'running', { lr: 0.005, optimizer: 'adamw' }, { val_loss: 0.5 }),
  job('no-params', 'running', {}),
]
const NAMES = namesOf(JOBS)
const BATCH = { config: { loss: 'dice', depth: '10' }, host: 'box7' } as never
const found = (text: string): string[] =>
  JOBS.filter(parseJobQuery(text, NAMES, BATCH).matches ?? (() => false)).map(({ id }) => id)

test.each([
  ['', ['a', 'b', 'c', 'no-params']],
  ['lr<0.01', ['a', 'c']],
  ['lr<0.01 optimizer:sgd', ['a']],
  ['status:failed', ['b']],
  ['val_loss<0.3', ['a']],
  ['optimizer!=sgd', ['c']],
  ['param.optimizer:SG', ['a', 'b']],
  ['last.lr<1', []],
  ['optimizer=sgd lr>=0.1', ['b']],
  ['lr=1e-3', ['a']],
  ['model:"resnet 50" lr>0', ['a', 'b', 'c']],
  ['"resnet 50" optimizer:adamw', ['c']],
  ['lr<0.002 OR status:failed', ['a', 'b']],
  ['NOT (lr<0.002 OR status:failed)', ['c', 'no-params']],
  ['loss:dice depth=10 host:BOX7', ['a', 'b', 'c', 'no-params']],
  ['lr:"1e-3"', ['a']],
  ['lr==0.1', ['b']],
  ['lr<high', []],
  ['lrr<1', []],
  ['id:no', ['no-params']],
  ['no-par', ['no-params']],
  ['tag:night', ['b']],
  ['tag:nigh', []],
  ['tag:"best one"', ['b']],
  ['tag!=night', ['a', 'c', 'no-params']],
  ['"best one"', ['b']],
])('%s finds %j', (text, ids) => {
  expect(parseJobQuery(text, NAMES).problems).toEqual([])
  expect(found(text)).toEqual(ids)
})

test.each([
  ['lr=<1', 'lr=<1: did you mean lr<=1? (at character 1)'],
  ['lr<<0.1', 'lr<<0.1: did you mean lr<0.1? (at character 1)'],
  ['lr:>=0.1', 'lr:>=0.1: did you mean lr>=0.1? (at character 1)'],
  ['status:done', 'done is not a status: running, completed, failed, stopped, lost (at character 1)'],
  ['lr<', 'lr< needs a value, such as lr<0.1 (at character 1)'],
  ['"open', 'A quotation mark in "open is not closed (at character 1)'],
])('%s is explained', (text, problem) => {
  expect(parseJobQuery(text, NAMES).problems).toEqual([problem])
})

test.each([
  ['lrr<1', 'No job has lrr: did you mean lr?'],
  ['xyz<1', 'No job has xyz'],
  ['optimize:sgd', 'No job has optimize: did you mean optimizer?'],
])('%s is named', (text, hint) => {
  expect(parseJobQuery(text, NAMES)).toMatchObject({ problems: [], hints: [hint] })
})

test('the nearest names are offered for a mistyped one', () => {
  const names = ['metrics/top1_accuracy_on_validation', 'val_loss', 'train_loss']
  expect(didYouMean('val_los', names)).toBe(': did you mean val_loss?')
  expect(didYouMean('loss', names)).toBe(': did you mean val_loss or train_loss?')
  expect(didYouMean('validation', names)).toBe(': did you mean metrics/top1_accuracy_on_validation?')
  expect(didYouMean('xyz', names)).toBe('')
})

test('only the service knows the best values of a job', () => {
  expect(parseJobQuery('best.val_loss<0.3', NAMES).matches).toBeNull()
})

test('names and values complete the last word', () => {
  const known = jobNames(JOBS, NAMES)
  expect(completions('lr<1 opt', known)).toEqual(['optimizer:'])
  expect(completions('val', known)).toEqual(['val_loss<'])
  expect(completions('optimizer:', known)).toEqual(['optimizer:sgd', 'optimizer:adamw'])
  expect(completions('tag', known)).toEqual(['tag:'])
  expect(completions('gpu', known)).toEqual(['gpu_count<'])
  expect(completions('tag:nig', known)).toEqual(['tag:Night'])
  expect(completions('status:f', known)).toEqual(['status:failed'])
  expect(completions('model="res', known)).toEqual(['model="resnet 50"'])
  expect(complete('lr<1 model="res', 'model="resnet 50"')).toBe('lr<1 model="resnet 50" ')
  expect(complete('lr<1 opt', 'optimizer:')).toBe('lr<1 optimizer:')
})
