/** Flattens nested objects; keys are joined with `/`, as the service names its columns. */
export function flat(value: Readonly<Record<string, unknown>>, prefix = ''): Record<string, unknown> {
  const found: Record<string, unknown> = {}
  for (const [name, one] of Object.entries(value)) {
    if (typeof one === 'object' && one !== null && !Array.isArray(one))
      Object.assign(found, flat(one as Record<string, unknown>, `${prefix}${name}/`))
    else found[prefix + name] = one
  }
  return found
}

const known = new WeakMap<object, Record<string, unknown>>()
/** Cached by object identity, for values from the service, which never change: tables flatten once per cell. */
export function flatOf(value: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const before = known.get(value)
  if (before !== undefined) return before
  const found = flat(value)
  known.set(value, found)
  return found
}
