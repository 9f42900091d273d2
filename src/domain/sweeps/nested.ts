import type { Parameter, Space } from './space.ts'

/** A parameter of a request: also a group of parameters, as W&B nests them. */
export type Given = (Parameter | { parameters: Readonly<Record<string, Given>> }) & {
  when?: Readonly<Record<string, unknown>> | undefined
}

/** The parameters by full name: `{optimizer: {parameters: {lr: …}}}` is `optimizer.lr`. */
export function flatSpace(given: Readonly<Record<string, Given>>): Space {
  const found: [string, Parameter][] = []
  const add = (inside: Readonly<Record<string, Given>>, prefix: string, above: Parameter['when']): void => {
    for (const [name, one] of Object.entries(inside)) {
      const own = Object.entries(one.when ?? {}).map(([on, value]) => [
        on,
        Array.isArray(value) ? value : [value],
      ])
      const when = { ...above, ...Object.fromEntries(own) }
      if ('parameters' in one) add(one.parameters, `${prefix}${name}.`, when)
      else {
        const { when: _, ...rest } = one
        found.push([`${prefix}${name}`, { ...rest, ...(Object.keys(when).length > 0 && { when }) }])
      }
    }
  }
  add(given, '', {})
  return Object.fromEntries(found)
}
