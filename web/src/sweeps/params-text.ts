import { number } from '../lib/words.ts'

/** `lr=0.01 depth=3` */
export const paramsText = (params: Record<string, unknown>): string =>
  Object.entries(params)
    .map(
      ([name, value]) =>
        `${name}=${typeof value === 'number' ? number(value) : typeof value === 'string' ? value : JSON.stringify(value)}`,
    )
    .join(' ')
