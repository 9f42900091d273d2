import { expect, test } from 'vitest'
import { jobNames, namesOf, parseJobQuery } from '../../web/src/lib/job-query.ts'
import { complete, completions } from '../../web/src/lib/query.ts'

type Job = Parameters<ReturnType<typeof parseJobQuery>['matches']>[0]
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
const found = (text: string): string[] => JOBS.filter(parseJobQuery(text, NAMES).matches).map(({ id }) => id)

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
  ['"resnet 50" adamw', ['c']],
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
  ['lr=<1', 'lr=<1: did you mean lr<=1?'],
  ['lr<<0.1', 'lr<<0.1: did you mean lr<0.1?'],
  ['lr==0.1', 'lr==0.1: did you mean lr=0.1?'],
  ['lr:>=0.1', 'lr:>=0.1: did you mean lr>=0.1?'],
  ['lrr<1', 'No job has lrr: did you mean lr?'],
  ['xyz<1', 'No job has xyz'],
  ['optimize:sgd', 'No job has optimize: did you mean optimizer?'],
  ['lr<high', 'lr< compares numbers, and high is not one'],
  ['status:done', 'done is not a status: running, completed, failed, stopped, lost'],
  ['lr<', 'lr< needs a value, such as lr<0.1'],
  ['"open', 'A quotation mark in "open is not closed'],
])('%s is explained', (text, problem) => {
  expect(parseJobQuery(text, NAMES).problems).toEqual([problem])
})

test('names and values complete the last word', () => {
  const known = jobNames(JOBS, NAMES)
  expect(completions('lr<1 opt', known)).toEqual(['optimizer:'])
  expect(completions('val', known)).toEqual(['val_loss<'])
  expect(completions('optimizer:', known)).toEqual(['optimizer:sgd', 'optimizer:adamw'])
  expect(completions('tag', known)).toEqual(['tag:'])
  expect(completions('tag:nig', known)).toEqual(['tag:Night'])
  expect(completions('status:f', known)).toEqual(['status:failed'])
  expect(completions('model="res', known)).toEqual(['model="resnet 50"'])
  expect(complete('lr<1 model="res', 'model="resnet 50"')).toBe('lr<1 model="resnet 50" ')
  expect(complete('lr<1 opt', 'optimizer:')).toBe('lr<1 optimizer:')
})
