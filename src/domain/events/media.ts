import { z } from 'zod'
import { isRecord } from '../../checked.ts'
import type { FieldError } from '../../problem.ts'

/**
 * Media among the values of a job_epoch (contract §11 "Media"): objects with a known `_type`, alone or in a list. All of them
 * but histograms name their content, which is a file of the batch.
 */
export const CONTENT_TYPES = ['image', 'audio', 'video', 'table', 'html', 'plot', 'text'] as const
export type MediaType = (typeof CONTENT_TYPES)[number] | 'histogram'
const TYPES: ReadonlySet<unknown> = new Set([...CONTENT_TYPES, 'histogram'])

export const MAX_MEDIA = 100
const MAX_BINS = 512

/** The media that an event has under a flattened name. */
export interface SentMedia {
  key: string
  type: MediaType
  values: readonly Record<string, unknown>[]
}

export const isMedia = (value: unknown): value is Record<string, unknown> =>
  isRecord(value) && TYPES.has(value._type)

/** Whether the value is media: one, or a list with at least one. */
export const holdsMedia = (value: unknown): boolean =>
  isMedia(value) || (Array.isArray(value) && value.some(isMedia))

const content = z.looseObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/, 'must be 64 hexadecimal digits in lower case'),
  size: z.int('must be a whole number').min(0),
  media_type: z.string().min(1).max(128).optional(),
  caption: z.string().nullish(),
})
const histogram = z
  .looseObject({
    bins: z
      .array(z.number())
      .min(2)
      .max(MAX_BINS + 1),
    counts: z.array(z.number().min(0)).min(1).max(MAX_BINS),
  })
  .refine(({ bins, counts }) => bins.length === counts.length + 1, {
    path: ['bins'],
    error: 'must have one more element than counts',
  })
  .refine(({ bins }) => bins.every((bin, i) => i === 0 || bin >= (bins[i - 1] ?? bin)), {
    path: ['bins'],
    error: 'must ascend',
  })

/**
 * @param path where the value is, such as `data.samples`
 * @returns the values, or what is wrong with them
 */
export function readMedia(
  value: unknown,
  path: string,
): { type: MediaType; values: Record<string, unknown>[] } | { errors: FieldError[] } {
  const list = Array.isArray(value) ? value : [value]
  if (list.length > MAX_MEDIA)
    return { errors: [{ path, message: `must be at most ${MAX_MEDIA} media values` }] }
  const errors = list.flatMap((one, i) => faultsOf(one, Array.isArray(value) ? `${path}.${i}` : path))
  if (errors.length > 0) return { errors }
  const values = list as Record<string, unknown>[]
  return { type: values[0]?._type as MediaType, values }
}

function faultsOf(value: unknown, path: string): FieldError[] {
  if (!isMedia(value)) return [{ path, message: 'must be a media value, as the others of the list' }]
  const parsed = (value._type === 'histogram' ? histogram : content).safeParse(value)
  return (parsed.error?.issues ?? []).map((issue) => ({
    path: [path, ...issue.path.map(String)].join('.'),
    message: issue.message.replace(/^Invalid input: /, ''),
  }))
}
