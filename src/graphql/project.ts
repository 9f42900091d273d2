import { instantOf } from '../db/instant.ts'
import type { Prisma } from '../db/prisma.ts'
import { type KnownFields, knownFieldFields, knownFields } from '../domain/lists/index.ts'
import { projectFields } from '../domain/projects/index.ts'
import { builder } from './builder.ts'
import { type Context, sees } from './context.ts'
import { DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import { PersonType } from './person.ts'

const VisibilityType = builder.enumType('Visibility', {
  values: { PRIVATE: { value: 'private' }, PUBLIC: { value: 'public' } } as const,
})
const RoleType = builder.enumType('ProjectRole', {
  values: { OWNER: { value: 'owner' }, MEMBER: { value: 'member' }, VIEWER: { value: 'viewer' } } as const,
})

interface Member {
  user: { id: string; name: string; email: string }
  role: 'owner' | 'member' | 'viewer'
  createdAt: Date
}

const MemberType = builder.objectRef<Member>('ProjectMember')
builder.objectType(MemberType, {
  fields: (t) => ({
    user: t.field({ type: PersonType, resolve: ({ user }) => user }),
    email: t.string({ resolve: ({ user }) => user.email }),
    role: t.field({ type: RoleType, resolve: ({ role }) => role }),
    createdAt: t.field({ type: 'DateTime', resolve: ({ createdAt }) => instantOf(createdAt) }),
  }),
})

const KnownFieldsType = builder.objectRef<KnownFields>('ProjectFields')
builder.objectType(KnownFieldsType, {
  description: 'Names among its newest 2,000 batches and jobs.',
  fields: (t) => declared(t, knownFieldFields, {}, (fields) => fields),
})

/**
 * A project. Through a share only its slug is visible: each other field checks `sees`, because
 * one query may reach the same object in both ways.
 */
export const ProjectType = builder.prismaNode('Project', {
  id: { field: 'slug' },
  include: { owner: true },
  nullable: true,
  description: 'A namespace of batches with its members and visibility.',
  findUnique: async (slug, context) => ({ slug, ...(await visibleOnly(context)) }),
  fields: (t) => ({
    slug: t.exposeString('slug'),
    displayName: t.string({
      resolve: async ({ key, displayName, slug }, _args, context) =>
        (await sees(context, key)) ? displayName : slug,
    }),
    visibility: t.field({
      type: VisibilityType,
      resolve: ({ visibility }) => visibility as 'private' | 'public',
    }),
    createdAt: t.field({
      type: 'DateTime',
      nullable: true,
      resolve: async ({ key, createdAt }, _args, context) =>
        (await sees(context, key)) ? instantOf(createdAt) : null,
    }),
    owner: t.field({
      type: PersonType,
      nullable: true,
      resolve: async ({ key, owner }, _args, context) => ((await sees(context, key)) ? owner : null),
    }),
    role: t.field({
      type: RoleType,
      nullable: true,
      description: projectFields.role.means,
      resolve: async ({ key }, _args, { memberships: standings }) => (await standings.load(key)).role,
    }),
    members: t.field({
      type: [MemberType],
      nullable: true,
      description: 'Its owner, then its members, oldest first; null for callers who are not members',
      complexity: DERIVED,
      authScopes: ({ key }) => ({ inProject: key }),
      unauthorizedResolver: () => null,
      select: {
        members: { include: { user: true }, orderBy: [{ createdAt: 'asc' }, { userId: 'asc' }] },
      },
      resolve: ({ createdAt, owner, members }): Member[] => [
        { user: owner, role: 'owner', createdAt },
        ...members.map(({ user, role, createdAt }) => ({ user, role: role as Member['role'], createdAt })),
      ],
    }),
    fields: t.loadable({
      type: KnownFieldsType,
      byPath: true,
      nullable: true,
      complexity: { field: 500, multiplier: 1 },
      description: 'Names for the filters and columns of its batches; null in a share',
      load: async (keys: number[], context) => {
        const found = await knownFields(context.db, await seenOf(context, keys))
        return keys.map((key) => found.get(key) ?? null)
      },
      resolve: ({ key }) => key,
    }),
    recipients: t.stringList({
      nullable: true,
      description: `${projectFields.recipients.means}; null for others`,
      authScopes: ({ key }) => ({ inProject: key }),
      unauthorizedResolver: () => null,
      resolve: ({ recipients }) => recipients,
    }),
  }),
})

/** Those of these projects whose batches the caller may see. A share shows the name of a project, never its batches. */
export async function seenOf(context: Context, keys: readonly number[]): Promise<number[]> {
  const seen: number[] = []
  for (const key of keys) if (await sees(context, key)) seen.push(key)
  return seen
}

/** The part of a `where` that limits it to projects that the caller may see. */
export async function visibleOnly(context: Context): Promise<{ AND?: Prisma.ProjectWhereInput[] }> {
  const visible = await context.visibleProjects()
  return visible === null ? {} : { AND: [{ key: { in: [...visible] } }] }
}
