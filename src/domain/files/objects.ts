import { required } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { contentOf, type ObjectStore } from '../../storage/index.ts'

/** An object with content, and where it comes in the order of `eachObject`. */
export interface StoredObject {
  key: number
  object: string
  size: number
}

const PAGE = 1_000

/** The objects of all content, in pages. */
export async function* eachObject(db: Db): AsyncGenerator<StoredObject> {
  for (let after = 0; ; ) {
    const page = await db<StoredObject[]>`/* files.objects */
      select key, object, size from contents where key > ${after}::bigint and object <> '' order by key limit ${PAGE}`
    yield* page
    if (page.length < PAGE) return
    after = required(page.at(-1)).key
  }
}

/**
 * Copies objects to another store; those that it has are skipped, because an object never changes.
 * @returns how many were copied, and the names of those that `from` lacks
 */
export async function copyObjects(
  objects: AsyncIterable<StoredObject>,
  {
    from,
    to,
    signal,
    copied,
  }: { from: ObjectStore; to: ObjectStore; signal?: AbortSignal; copied?: (bytes: number) => void },
): Promise<{ copied: number; missing: string[] }> {
  const result = { copied: 0, missing: [] as string[] }
  for await (const { object, size } of objects) {
    signal?.throwIfAborted()
    const name = contentOf(object)
    if ((await to.sizeOf(name)) === size) continue
    const bytes = await from.read(name)
    if (bytes === undefined) {
      result.missing.push(object)
      continue
    }
    const writer = await to.continueObject(object, { offset: 0, state: null })
    try {
      for await (const chunk of bytes) {
        signal?.throwIfAborted()
        await writer.write(chunk as Buffer)
      }
      await writer.finish()
    } catch (error) {
      await writer.abandon()
      throw error
    }
    result.copied++
    copied?.(size)
  }
  return result
}

/**
 * Compares the store with the database.
 * @returns content without its object or with another size, and objects that nothing in the database names
 */
export async function compareStore(
  db: Db,
  store: ObjectStore,
): Promise<{ objects: number; missing: string[]; unknown: number }> {
  const missing: string[] = []
  let objects = 0
  for await (const { object, size } of eachObject(db)) {
    objects++
    if ((await store.sizeOf(contentOf(object))) !== size) missing.push(object)
  }
  const projects = await db<{ key: number }[]>`/* files.projects */ select key from projects order by key`
  let unknown = 0
  for (const { key } of projects) {
    const found = new Set<string>()
    for await (const name of store.list(String(key))) found.add(name.split('/').slice(0, 2).join('/'))
    if (found.size === 0) continue
    // Read after the list: an object has its row before it is written.
    const known = await db<{ object: string }[]>`/* files.known_objects */
      select object from contents where project_key = ${key}
      union all select object from uploads where project_key = ${key}
      union all select object from stored_removals`
    for (const { object } of known) found.delete(object)
    unknown += found.size
  }
  return { objects, missing, unknown }
}

/** After a restore: uploads of that time cannot be continued. */
export async function forgetUploads(db: Db): Promise<void> {
  await db`/* files.forget_uploads */ delete from uploads`
}
