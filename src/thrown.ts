/** Access to properties of a caught value. Anything can be thrown, so none of them is certain to exist. */

export const fieldOf = (thrown: unknown, name: string): unknown =>
  typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, name) : undefined

/** The `code` of errors of Node, PostgreSQL and libraries. */
export function codeOf(thrown: unknown): string | undefined {
  const code = fieldOf(thrown, 'code')
  return typeof code === 'string' ? code : undefined
}

export const errorOf = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown))

export const messageOf = (thrown: unknown): string => errorOf(thrown).message
