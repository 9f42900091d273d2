import type { Db } from '../../db/sql.ts'
import { seesProjectSql } from '../notifications/index.ts'

/** Mentions in the text of a comment: `@Ada Lovelace`, without case, by the longest name that someone has. */

/** No one is mentioned in a block or span of code. */
const CODE = /^[ \t]*(```|~~~)[\s\S]*?(?:^[ \t]*\1|$(?![\s\S]))|`[^`\n]*`/gm
const MAX_MENTIONS = 20
/** A name has at most 128 characters, but few people have more than this many words in theirs. */
const MAX_WORDS = 6

/** What may be names behind each `@`, longest first, in lower case. */
export function namesIn(body: string): string[][] {
  const text = body.replace(CODE, ' ')
  return [...text.matchAll(/(?<![\p{L}\p{N}._@/-])@([\p{L}\p{N}][^\n@]{0,127})/gu)]
    .slice(0, MAX_MENTIONS)
    .map(([, after = '']) => prefixesOf(after))
}

function prefixesOf(after: string): string[] {
  const found: string[] = []
  // A name ends before white space or punctuation, or where the line does.
  for (const { index } of after.matchAll(/(?<=[^\s])(?=[\s\p{P}]|$)/gu)) {
    const name = after.slice(0, index).toLowerCase()
    if (name.split(/\s+/).length > MAX_WORDS || found.length >= 3 * MAX_WORDS) break
    found.unshift(name)
  }
  return found
}

export interface Mentioned {
  id: string
  name: string
}

/** The people whom the text names and who see the project. Two of one name are both mentioned. */
export async function mentionedIn(db: Db, projectKey: number, body: string): Promise<Mentioned[]> {
  const wanted = namesIn(body)
  if (wanted.length === 0) return []
  const people = await db<(Mentioned & { key: string })[]>`/* comments.mentioned */
    select u.id, u.name, lower(u.name) key from users u join projects p on p.key = ${projectKey}
    where lower(u.name) = any (${[...new Set(wanted.flat())]}::text[]) and u.disabled_at is null
      and ${seesProjectSql(db)}
    order by u.name, u.id limit 100`
  const found = new Map<string, Mentioned>()
  for (const names of wanted) {
    const name = names.find((one) => people.some(({ key }) => key === one))
    for (const { id, name: shown, key } of people) if (key === name) found.set(id, { id, name: shown })
  }
  return [...found.values()].slice(0, MAX_MENTIONS)
}
