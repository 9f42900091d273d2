/** What a caught value says. Anything can be thrown, so nothing of it is certain. */

export const fieldOf = (thrown: unknown, name: string): unknown =>
  typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, name) : undefined

/** The `code` of errors of Node, of PostgreSQL and of libraries. */
export function codeOf(thrown: unknown): string | undefined {
  const code = fieldOf(thrown, 'code')
  return typeof code === 'string' ? code : undefined
}

export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

export const messageOf = (thrown: unknown): string => errorOf(thrown).message
