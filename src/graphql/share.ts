import { shareFields } from '../domain/shares/index.ts'
import { BatchType } from './batch.ts'
import { builder } from './builder.ts'
import { DERIVED } from './costs.ts'
import { declaredOfRecord } from './declared.ts'
import type { BatchNode } from './nodes.ts'
import { PersonType } from './person.ts'

/** The fields of an account that others may see. */
const PERSON = { select: { id: true, name: true } } as const
const CREATOR = { select: { ...PERSON.select, disabledAt: true } } as const

/** A public link to a batch, never its token. */
const ShareType = builder.prismaObject('Share', {
  fields: (t) => ({
    ...declaredOfRecord(t, shareFields, ['created_by', 'creator_disabled']),
    createdBy: t.field({ type: PersonType, select: { creator: PERSON }, resolve: ({ creator }) => creator }),
    creatorDisabled: t.boolean({
      description: shareFields.creator_disabled.means,
      select: { creator: CREATOR },
      resolve: ({ creator }) => creator.disabledAt !== null,
    }),
  }),
})

builder.objectField(BatchType, 'shares', (t) =>
  t.loadableGroup({
    type: ShareType,
    nullable: true,
    complexity: DERIVED,
    description: 'Its public links that were not revoked, newest first; null for those who may not make one',
    authScopes: ({ view }: BatchNode) => view.can.share,
    unauthorizedResolver: () => null,
    load: (keys: number[], { prisma }) =>
      prisma.share.findMany({
        where: { batchKey: { in: keys.map(BigInt) }, revokedAt: null },
        include: { creator: CREATOR },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      }),
    group: (share) => Number(share.batchKey),
    resolve: ({ row }) => row.key,
  }),
)
