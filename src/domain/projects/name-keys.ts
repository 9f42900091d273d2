import type { Sql } from '../../db/sql.ts'
import { projectNameKey } from './name.ts'

/**
 * Gives projects that were made before names had keys, or by an older server, the key of theirs. Where two of them look
 * alike the older one holds the key; both keep working. May run in several servers at once.
 */
export async function fillNameKeys(sql: Sql): Promise<void> {
  const rows = await sql<{ key: number; slug: string }[]>`/* projects.without_name_key */
    select key, slug from projects where name_key is null order by key`
  for (const { key, slug } of rows) {
    const nameKey = projectNameKey(slug)
    await sql`/* projects.fill_name_key */
      update projects set name_key = ${nameKey}
      where key = ${key} and name_key is null and not exists (select from projects o where o.name_key = ${nameKey})`.catch(
      (error: { code?: string }) => {
        // Another server gave it to one of its look-alikes at the same moment.
        if (error.code !== '23505') throw error
      },
    )
  }
}
