import type { CallerUser } from '../domain/caller.ts'
import { builder } from './builder.ts'

export interface Person {
  id: string
  name: string
}

export const PersonType = builder.objectRef<Person>('Person')
builder.objectType(PersonType, {
  description: 'A user.',
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => id }),
    name: t.string({ resolve: ({ name }) => name }),
  }),
})

const ViewerRole = builder.enumType('UserRole', {
  values: { ADMIN: { value: 'admin' }, USER: { value: 'user' } } as const,
})

export const ViewerType = builder.objectRef<CallerUser>('Viewer')
builder.objectType(ViewerType, {
  description: 'The signed-in user.',
  fields: (t) => ({
    id: t.id({ resolve: ({ id }) => id }),
    name: t.string({ resolve: ({ name }) => name }),
    email: t.string({ resolve: ({ email }) => email }),
    role: t.field({ type: ViewerRole, resolve: ({ role }) => role }),
  }),
})

builder.queryField('viewer', (t) =>
  t.field({
    type: ViewerType,
    nullable: true,
    description: 'Null if you are not signed in',
    resolve: (_root, _args, { caller }) => (caller.kind === 'known' ? caller.user : null),
  }),
)
