import { itemAt } from './checked.ts'
/** Parses Python tracebacks, and groups failures with the same cause. */
export interface Frame {
  file: string
  line: number
  /** The function; empty at module level. */
  call: string
}

const FRAME = /^\s*File "(.+)", line (\d+)(?:, in (.+))?$/
/** Code of libraries and Python itself. Errors raised there are usually caused by the calling code. */
const INSTALLED = /[\\/](?:site-packages|dist-packages|lib[\\/]python\d[\d.]*)[\\/]|^<frozen /

export function frameOf(line: string): Frame | null {
  const found = FRAME.exec(line)
  return found === null
    ? null
    : { file: itemAt(found, 1), line: Number(found[2]), call: (found[3] ?? '').replace('<module>', '') }
}
export const isInstalled = ({ file }: Frame): boolean => INSTALLED.test(file)

/** Where the error occurred: the last frame in the project's code, else the last frame. */
export function placeOf(traceback: string): Frame | null {
  const frames = traceback.split('\n').flatMap((line) => frameOf(line) ?? [])
  return frames.findLast((frame) => !isInstalled(frame)) ?? frames.at(-1) ?? null
}

/** The error message: the first line after the last frame, such as `ValueError: bad shape`. */
export function errorOf(traceback: string): string {
  const lines = traceback.trimEnd().split('\n')
  const last = lines.findLastIndex((line) => frameOf(line) !== null)
  const raised = lines.slice(last + 1).find((line) => /^\S/.test(line))
  return (raised ?? lines.at(-1) ?? '').trim()
}

/** The reason of a failure, unless one of these tracebacks or errors has it already. */
export function unsaidReason(
  reason: string | null | undefined,
  beside: readonly string[],
): string | undefined {
  const text = reason?.trim() ?? ''
  return text === '' || beside.some((one) => one.includes(text)) ? undefined : text
}

/** `train.py:143 in forward` */
export const placeText = ({ file, line, call }: Frame): string =>
  `${file.split(/[\\/]/).at(-1)}:${line}${call ? ` in ${call}` : ''}`

interface Failed {
  id: string
  status: string
  failure_reason: string | null
  traceback: string | null
}
export interface FailureGroup<T extends Failed> {
  /** The error of the first job. */
  error: string
  place: Frame | null
  jobs: T[]
}

/** The error without numbers, addresses and quoted names, so that errors with the same cause are equal. */
export const causeOf = (error: string): string =>
  error
    .replace(/0x[\da-f]+/gi, '#')
    .replace(/(['"]).*?\1/g, '#')
    .replace(/\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi, '#')

/** Groups failed jobs by error and place, largest groups first. */
export function groupFailures<T extends Failed>(jobs: readonly T[]): FailureGroup<T>[] {
  const groups = new Map<string, FailureGroup<T>>()
  for (const job of jobs) {
    if (job.status !== 'failed') continue
    const error = job.traceback
      ? errorOf(job.traceback)
      : (job.failure_reason ?? 'No reason was reported').trim()
    const place = job.traceback ? placeOf(job.traceback) : null
    const key = `${causeOf(error)}\n${place === null ? '' : placeText(place)}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, { error, place, jobs: [job] })
    else group.jobs.push(job)
  }
  return [...groups.values()].sort((a, b) => b.jobs.length - a.jobs.length)
}

/** More causes than this are counted together. */
const MAX_CAUSES = 3

/** What an error means in a word or two: its kind if it is common, else its type. */
export function causeWords(error: string): string {
  if (/out of memory|\bOOM\b/i.test(error)) return 'out of memory'
  if (/\bnan\b|diverged|not finite/i.test(error)) return 'NaN'
  if (/killed|SIGKILL/i.test(error)) return 'killed'
  return /^(?:\w+\.)*(\w*(?:Error|Exception|Interrupt|Exit))\b/.exec(error)?.[1] ?? error
}

/** `23 failed: 12 × out of memory, 7 × NaN, 4 × other`; without failed jobs the error of the script itself. */
export function failuresTitle(
  groups: readonly { error: string; jobs: readonly unknown[] }[],
  ownError: string | undefined,
): string | undefined {
  if (groups.length === 0) return ownError
  const causes = new Map<string, number>()
  for (const { error, jobs } of groups) {
    const words = causeWords(error)
    causes.set(words, (causes.get(words) ?? 0) + jobs.length)
  }
  const sorted = [...causes].sort((a, b) => b[1] - a[1])
  const shown = sorted.slice(0, sorted.length > MAX_CAUSES ? MAX_CAUSES - 1 : MAX_CAUSES)
  const total = groups.reduce((n, { jobs }) => n + jobs.length, 0)
  const rest = total - shown.reduce((n, [, jobs]) => n + jobs, 0)
  const texts = shown.map(([words, n]) => (sorted.length === 1 ? words : `${n} × ${words}`))
  return `${total} failed: ${[...texts, ...(rest > 0 ? [`${rest} × other`] : [])].join(', ')}`
}
