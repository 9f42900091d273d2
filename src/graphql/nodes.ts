import { entryOf, itemAt } from '../checked.ts'
import { type BatchRow, type BatchView, batchRecords, visibleBatchRecords } from '../domain/batches/index.ts'
import { ANONYMOUS } from '../domain/caller.ts'
import {
  type JobField,
  type JobName,
  type JobPart,
  type JobRow,
  type JobView,
  jobRecords,
  keysNamed,
  visibleKeysOf,
} from '../domain/jobs/index.ts'
import type { FoundKey } from '../domain/lists/index.ts'
import { type LookedUp, presentBatches, viewsOfJobs } from '../domain/present.ts'
import { anonymizeBatch, anonymizeJob, type Hiding, openedShare, sharedView } from '../domain/shares/index.ts'
import type { Context } from './context.ts'

/**
 * The values that resolvers have for a batch and a job: the row, as Prisma read it, its view (the same as in REST), and the share that it
 * was reached through.
 */

export interface BatchNode {
  row: BatchRow
  view: BatchView
  /** Set if it was reached through a share: then the reader sees nothing else. */
  share: Share | null
}

export class JobNode {
  readonly row: JobRow
  readonly view: JobView
  readonly share: Share | null
  constructor(row: JobRow, view: JobView, share: Share | null) {
    this.row = row
    this.view = view
    this.share = share
  }
}

export interface Share extends Hiding {
  /** Hides user, host, paths and log lines. */
  anonymous: boolean
}

/** @param lookedUp the fields of other modules that the query selects; all without it */
export async function batchNodes(
  context: Context,
  rows: readonly BatchRow[],
  lookedUp?: readonly LookedUp[],
): Promise<BatchNode[]> {
  const views = await presentBatches(context.db, context.caller, rows, context.clock, lookedUp)
  return rows.map((row, i) => ({ row, view: itemAt(views, i), share: null }))
}

/** @param fields the fields that their views need; all without it, as what is hidden in an anonymous share needs */
export async function jobNodes(
  context: Context,
  rows: readonly JobRow[],
  shareOf: (row: JobRow) => Share | null,
  fields?: readonly JobField[],
): Promise<JobNode[]> {
  const views = await viewsOfJobs(context.db, rows, context.clock, fields)
  return rows.map((row, i) => {
    const share = shareOf(row)
    const view = itemAt(views, i)
    return new JobNode(row, share?.anonymous === true ? anonymizeJob(view, share.text) : view, share)
  })
}

/** The pages that SQL found, by parent: their nodes, and how many places each has. */
type Pages<Node> = (parent: number) => { rows: { place: FoundKey; node: Node }[]; length: number }

/** The batches of a page, read through Prisma; one that was removed meanwhile is missing. */
export async function batchesAt(
  context: Context,
  places: readonly FoundKey[],
  lookedUp: readonly LookedUp[],
): Promise<Pages<BatchNode>> {
  const keys = places.map(({ key }) => key)
  const rows =
    keys.length === 0 ? [] : await batchRecords(context.prisma, context.caller, { key: { in: keys } })
  return pagesOf(places, await batchNodes(context, rows, lookedUp))
}

/** The jobs of a page, likewise. */
export async function jobsAt(
  context: Context,
  places: readonly FoundKey[],
  shareOf: (place: FoundKey) => Share | null,
  parts: readonly JobPart[],
  fields: readonly JobField[],
): Promise<Pages<JobNode>> {
  const rows = await jobRecords(
    context.prisma,
    places.map(({ key }) => key),
    parts,
  )
  const byKey = new Map(places.map((place) => [place.key, place]))
  const nodes = await jobNodes(context, rows, ({ key }) => shareOf(entryOf(byKey, key)), fields)
  return pagesOf(places, nodes)
}

function pagesOf<Node extends { row: { key: number } }>(
  places: readonly FoundKey[],
  nodes: readonly Node[],
): Pages<Node> {
  const byKey = new Map(nodes.map((node) => [node.row.key, node]))
  const pages = new Map<number, ReturnType<Pages<Node>>>()
  for (const place of places) {
    const page = pages.get(place.parent) ?? { rows: [], length: 0 }
    pages.set(place.parent, page)
    page.length++
    const node = byKey.get(place.key)
    if (node !== undefined) page.rows.push({ place, node })
  }
  return (parent) => pages.get(parent) ?? { rows: [], length: 0 }
}

/** The batches that the caller may see; null for the others. */
export async function batchesById(
  context: Context,
  ids: readonly string[],
  lookedUp?: readonly LookedUp[],
): Promise<(BatchNode | null)[]> {
  const rows = await visibleBatchRecords(context.prisma, context.caller, ids)
  const byId = new Map((await batchNodes(context, rows, lookedUp)).map((node) => [node.view.id, node]))
  return ids.map((id) => byId.get(id) ?? null)
}

export async function jobsByName(context: Context, names: readonly JobName[]): Promise<(JobNode | null)[]> {
  const keys = await visibleKeysOf(context.db, context.caller, names)
  const nodes = await jobNodes(context, await jobRecords(context.prisma, keys), () => null)
  const nameOf = (batchId: string, id: string) => JSON.stringify([batchId, id])
  const byName = new Map(nodes.map((node) => [nameOf(node.row.batch_id, node.row.id), node]))
  return names.map(({ batchId, id }) => byName.get(nameOf(batchId, id)) ?? null)
}

/** The batch of a share's token, as shown to the holder of the link; null if the token is not valid. */
export async function sharedBatch(context: Context, token: string): Promise<BatchNode | null> {
  const share = await openedShare(context.prisma, token, context.clock.now)
  if (share === undefined) return null
  // The link alone gives access: a signed-in user sees no more through it than any other holder of the link.
  const [row] = await batchRecords(context.prisma, ANONYMOUS, { key: share.batchKey })
  if (row === undefined) return null
  const [view] = await presentBatches(context.db, ANONYMOUS, [row], context.clock)
  if (view === undefined) return null
  const open = sharedView(view)
  if (!share.anonymous)
    return { row, view: open, share: { anonymous: false, text: (value) => value, name: (name) => name } }
  const hidden = anonymizeBatch(open)
  return { row, view: hidden.batch, share: { anonymous: true, text: hidden.text, name: hidden.name } }
}

/** The jobs of the shared batch, as the reader of the share sees them; none if the token is not valid. */
export async function sharedJobs(
  context: Context,
  token: string,
  ids: readonly string[],
): Promise<JobNode[]> {
  const batch = await sharedBatch(context, token)
  if (batch === null) return []
  const keys = await keysNamed(
    context.db,
    ids.map((id) => ({ batchKey: batch.row.key, id })),
  )
  return jobNodes(context, await jobRecords(context.prisma, keys), () => batch.share)
}
