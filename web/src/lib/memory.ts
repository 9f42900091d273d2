import { number } from './words.ts'

/** Reporters send memory in MiB, under names that end in `_mb`. */
export const MIB_PER_GIB = 1024

/** `20 of 80 GiB`, from MiB; without a total `20 GiB`. */
export function gibText(used: number | undefined, total?: number): string {
  if (used === undefined) return '–'
  const whole = total === undefined ? '' : ` of ${number(Math.round(total / MIB_PER_GIB))}`
  return `${number(Number((used / MIB_PER_GIB).toPrecision(3)))}${whole} GiB`
}
