import { describe, expect, test } from 'vitest'
import { batchCan, callerMay, type ProjectFacts, type Right } from '../../src/domain/access.ts'
import { ANONYMOUS, type Caller, type Known } from '../../src/domain/caller.ts'

const as = (id: string, via: Known['via'] = 'session', role: 'admin' | 'user' = 'user'): Caller => ({
  kind: 'known',
  user: { id, email: `${id}@example.org`, name: id, role },
  via,
  credentialId: 'c',
})
const project = (
  visibility: ProjectFacts['visibility'],
  role: ProjectFacts['role'] = null,
): ProjectFacts => ({
  visibility,
  ownerId: 'owner',
  role,
})

/** The columns of contract §2: the caller and its role in the project. */
const COLUMNS: [string, Caller, ProjectFacts['role']][] = [
  ['anonymous', ANONYMOUS, null],
  ['stranger', as('stranger'), null],
  ['viewer', as('viewer'), 'viewer'],
  ['member', as('member'), 'member'],
  ['batch owner', as('batch-owner'), 'member'],
  ['project owner', as('owner'), null],
  ['admin', as('admin', 'session', 'admin'), null],
]

describe('the permission table', () => {
  //                  anonymous stranger viewer member batch-owner project-owner admin
  test.each<[Right, ProjectFacts['visibility'], string]>([
    ['read', 'private', 'no no yes yes yes yes yes'],
    ['read', 'public', 'yes yes yes yes yes yes yes'],
    ['know_members', 'private', 'no no yes yes yes yes yes'],
    ['know_members', 'public', 'no no yes yes yes yes yes'],
    ['send_events', 'public', 'no no no yes yes yes yes'],
    ['edit', 'public', 'no no no yes yes yes yes'],
    ['stop', 'public', 'no no no no yes yes yes'],
    ['rerun', 'public', 'no no no no yes yes yes'],
    ['override_rerun', 'public', 'no no no no yes no no'],
    ['delete', 'public', 'no no no no yes yes yes'],
    ['share', 'public', 'no no no no yes yes yes'],
    ['administer', 'public', 'no no no no no yes yes'],
    ['send_events', 'private', 'no no no yes yes yes yes'],
    ['edit', 'private', 'no no no yes yes yes yes'],
    ['stop', 'private', 'no no no no yes yes yes'],
    ['administer', 'private', 'no no no no no yes yes'],
  ])('%s in a %s project', (right, visibility, row) => {
    const got = COLUMNS.map(([, caller, role]) =>
      callerMay(right, caller, project(visibility, role), 'batch-owner') ? 'yes' : 'no',
    )
    expect(got.join(' ')).toBe(row)
  })
})

describe('a credential', () => {
  const RIGHTS: Right[] = [
    'read',
    'know_members',
    'send_events',
    'edit',
    'stop',
    'rerun',
    'override_rerun',
    'delete',
    'share',
    'administer',
  ]
  test.each<[Known['via'], Right[]]>([
    ['cookie', RIGHTS.filter((r) => r !== 'override_rerun')],
    ['session', RIGHTS.filter((r) => r !== 'override_rerun')],
    ['read', ['read', 'know_members']],
    ['reporter', ['send_events']],
    ['agent', ['send_events']],
  ])('%s of an administrator allows no more than %j', (via, rights) => {
    const caller = as('admin', via, 'admin')
    expect(RIGHTS.filter((right) => callerMay(right, caller, project('private'), 'someone'))).toEqual(rights)
  })
})

test('the owner of a batch keeps it as a viewer of the project, and cannot read it after being removed from the project', () => {
  const caller = as('batch-owner')
  expect(callerMay('stop', caller, project('private', 'viewer'), 'batch-owner')).toBe(true)
  expect(callerMay('stop', caller, project('private'), 'batch-owner')).toBe(false)
  expect(callerMay('read', caller, project('private'), 'batch-owner')).toBe(false)
})

test('a batch that has ended cannot be stopped, and a deleted one can only be restored', () => {
  const everything = { rerun: true, delete: true, share: true, edit: true }
  expect(batchCan(() => true, { status: 'running', deleted: false })).toEqual({ stop: true, ...everything })
  expect(batchCan(() => true, { status: 'completed', deleted: false })).toEqual({
    stop: false,
    ...everything,
  })
  expect(Object.values(batchCan(() => true, { status: 'running', deleted: true }))).not.toContain(true)
})
