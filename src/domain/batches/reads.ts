import type { Fragment } from 'postgres'
import type { Prisma, PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { requireReader, seesProject } from '../access.ts'
import type { Caller } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { besideColumns, recordRows } from '../record-rows.ts'
import { isStorable } from '../storable-text.ts'
import { batchFields } from './batch-fields.ts'
import { besideBatch } from './batch-row.ts'
import type { BatchRow } from './view.ts'

/**
 * The rows of these batches, in no order. The permissions were checked before. The keys are passed through a
 * sub-select, so that one plan fits any number of keys and PostgreSQL caches it: in large databases planning each time
 * took ten times as long as the rest.
 */
export async function readBatches(db: Db, caller: Caller, keys: number[]): Promise<BatchRow[]> {
  return wideRows(db<BatchRow[]>`/* batches.read */
    select ${batchColumns(db)} from batches b ${batchJoins(db, caller)}
    where b.key = any ((select ${keys}::bigint[])::bigint[])`)
}

const record = recordRows<BatchRow>(batchFields, besideBatch)

/** The rows of these batches through Prisma, with their projects and owners, in one statement; in no order. */
export async function batchRecords(
  prisma: PrismaClient,
  caller: Caller,
  where: Prisma.BatchWhereInput,
): Promise<BatchRow[]> {
  const userId = caller.kind === 'known' ? caller.user.id : NO_USER
  const { project, ...select } = record.select
  const ofProject = typeof project === 'object' ? project.select : {}
  const found = await prisma.batch.findMany({
    where: { ...where, progress: { isNot: null } },
    relationLoadStrategy: 'join',
    select: {
      ...select,
      project: { select: { ...ofProject, members: { where: { userId }, select: { role: true } } } },
    },
  })
  return found.map(record.rowOf)
}

/** An id that no user has. */
const NO_USER = '00000000-0000-0000-0000-000000000000'

/** Those of these batches that the caller may see, in no order. */
export async function visibleBatchRecords(
  prisma: PrismaClient,
  caller: Caller,
  batchIds: readonly string[],
): Promise<BatchRow[]> {
  requireReader(caller)
  const ids = batchIds.filter(isStorable)
  if (ids.length === 0) return []
  const rows = await batchRecords(prisma, caller, { id: { in: ids }, purgedAt: null, deletedAt: null })
  return rows.filter(({ visibility, project_owner_id: ownerId, role }) =>
    seesProject(caller, { visibility, ownerId, role }),
  )
}

/** A `BatchRow`, of `b` with `batchJoins`. */
export const batchColumns = (db: Db): Fragment => db.unsafe(COLUMNS)
const COLUMNS = `${columnsOf(batchFields, 'b')}, ${besideColumns(besideBatch)}`

export const batchJoins = (db: Db, caller: Caller): Fragment => db`
  join batch_progress s on s.batch_key = b.key
  join projects p on p.key = b.project_key
  join users u on u.id = b.owner_id
  left join project_members m on m.project_key = p.key
    and m.user_id = ${caller.kind === 'known' ? caller.user.id : null}::uuid`
