import { linksOfProjects, type ProjectLink, projectLinkFields } from '../domain/links/index.ts'
import { listShares, type ShareView, shareFields } from '../domain/shares/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { administeredOf } from './context.ts'
import { DERIVED } from './costs.ts'
import { declared } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { MAX_PAGE_SIZE } from './paging.ts'
import { PersonType } from './person.ts'
import { ProjectType } from './project.ts'

const ShareType = builder.objectRef<ShareView & { batch_key: number }>('Share')
builder.objectType(ShareType, {
  description: 'A public link to a batch, never its token.',
  fields: (t) => declared(t, shareFields, { created_by: PersonType }, (share) => share),
})

builder.objectField(BatchType, 'shares', (t) =>
  t.loadableGroup({
    type: ShareType,
    nullable: true,
    complexity: DERIVED,
    description: 'Its active public links, newest first; null for callers who may not create one',
    authScopes: ({ view }: BatchNode) => view.can.share,
    unauthorizedResolver: () => null,
    load: (keys: number[], { prisma, clock }) =>
      listShares(prisma, keys, { limit: null, after: undefined }, clock.now),
    group: (share) => share.batch_key,
    resolve: ({ row }) => row.key,
  }),
)

const ProjectLinkType = builder.objectRef<ProjectLink>('ProjectLink')
builder.objectType(ProjectLinkType, {
  description: 'A public link to a batch or a report of a project, never its token.',
  fields: (t) => declared(t, projectLinkFields, { created_by: PersonType }, (link) => link),
})

builder.prismaObjectFields(ProjectType, (t) => ({
  links: t.loadableList({
    type: ProjectLinkType,
    byPath: true,
    nullable: true,
    complexity: DERIVED,
    description:
      'Active public links to its batches and reports, newest first, at most 500; null for callers who do not administer the project',
    load: async (keys: number[], context) => {
      const administered = await administeredOf(context, keys)
      const { prisma, clock } = context
      const found = await linksOfProjects(prisma, administered, MAX_PAGE_SIZE.links, clock.now)
      return keys.map((key) => found.get(key) ?? null)
    },
    resolve: ({ key }) => key,
  }),
}))
