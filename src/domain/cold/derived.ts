import { joinPacked, splitPacked } from '../events/index.ts'
import { lowerBound, TIMES } from '../metrics/index.ts'
import { type Column, type Columns, columnsAt, stepsAt, type Vals } from './columns.ts'

/**
 * Tables have a value several times: in its epoch, in the text of its event and in a chunk. The archive has it once, as a
 * point (points.ts), from which epochs follow; events and chunks follow from epochs. Each row is tried: it stays
 * unchanged unless the result is the same to the byte.
 */

/** Beside the columns of `events`, in the file: how `packed` comes from an epoch. */
export const EVENT_EXTRA: Column[] = [
  { name: 'epoch', kind: 'long', type: 'bigint' },
  { name: 'recipe', kind: 'int', type: 'integer' },
  { name: 'template', kind: 'bytes', type: 'bytea' },
]

/** Numbers of epochs that are held for this at most, some 100 MB. Rows of later epochs then stay as they are. */
const MAX_NUMBERS = 2_000_000
/** Events of a template that a recipe is found by. */
const SAMPLE = 32

/** Values of the epochs of a batch, by job and epoch. */
export interface EpochValues {
  /** Rows of `epochs`, in the order of their jobs and epochs. */
  add(columns: readonly Column[], values: Columns): void
  of(jobKey: number, epoch: number): Vals | undefined
  /** The values of a series, or the times (`TIMES`), in a range of epochs, as a chunk has them. */
  chunk(jobKey: number, series: number, first: number, last: number): Buffer
}

export function createEpochValues(): EpochValues {
  const jobs = new Map<number, { epochs: number[]; times: number[]; vals: Vals[] }>()
  let numbers = 0

  return {
    add(columns, values) {
      const at = columnsAt(columns, values)
      const [keys, times, vals] = [at('job_key'), at('ts'), at('vals')]
      const stepOf = stepsAt(at, 'epoch_high', 'epoch')
      for (const [i, key] of keys.entries()) {
        const row = vals[i] as Vals
        numbers += row.length + 2
        if (numbers > MAX_NUMBERS) return
        let job = jobs.get(key as number)
        if (job === undefined) {
          job = { epochs: [], times: [], vals: [] }
          jobs.set(key as number, job)
        }
        job.epochs.push(stepOf(i))
        job.times.push(times[i] as number)
        job.vals.push(row)
      }
    },
    of(jobKey, epoch) {
      const job = jobs.get(jobKey)
      if (job === undefined) return undefined
      const place = lowerBound(job.epochs, epoch)
      return job.epochs[place] === epoch ? job.vals[place] : undefined
    },
    chunk(jobKey, series, first, last) {
      const { epochs, times, vals } = jobs.get(jobKey) ?? { epochs: [], times: [], vals: [] }
      const found: number[] = []
      for (let i = lowerBound(epochs, first); i < epochs.length && (epochs[i] as number) <= last; i++) {
        const value = series === TIMES ? Math.floor((times[i] as number) / 1000) : (vals[i]?.[series] ?? null)
        if (value !== null) found.push(value)
      }
      const bytes = Buffer.alloc(found.length * 8)
      for (const [i, value] of found.entries()) bytes.writeDoubleBE(value, i * 8)
      return bytes
    },
  }
}

/**
 * Takes out of rows of `events` what follows from their epochs: first the text, which the table does not have where it
 * is packed, then, once a digest of what the table has was made, `packed` itself.
 * @param columns of the table and EVENT_EXTRA, of which `epoch` is given
 */
export function deriveEvents(
  columns: readonly Column[],
  values: Columns,
  known: EpochValues,
): { recipes: string[]; takeOut: () => void } {
  const at = columnsAt(columns, values)
  const [keys, epochs, payloads, packed] = [at('job_key'), at('epoch'), at('payload'), at('packed')]
  const groups = new Map<string, PackedEvent[]>()
  for (const [i, jobKey] of keys.entries()) {
    const [epoch, bytes] = [epochs[i], packed[i]]
    if (typeof epoch !== 'number' || !(bytes instanceof Uint8Array)) continue
    const vals = known.of(jobKey as number, epoch)
    if (vals === undefined) continue
    const { hash, texts } = splitPacked(bytes)
    const name = `${jobKey} ${hash.toString('hex')}`
    const group = groups.get(name) ?? []
    group.push({ i, hash, texts, epoch, vals })
    groups.set(name, group)
  }
  const recipes = new Map<string, number>()
  const derived: { i: number; hash: Buffer; recipe: number }[] = []
  for (const group of groups.values()) {
    const recipe = recipeFor(group)
    for (const { i, hash, epoch, vals } of group) {
      if (!joinPacked(hash, textsOf(recipe, epoch, vals)).equals(packed[i] as Uint8Array)) continue
      const number = recipes.get(recipe) ?? recipes.size
      recipes.set(recipe, number)
      derived.push({ i, hash, recipe: number })
      payloads[i] = null
    }
  }
  return {
    recipes: [...recipes.keys()],
    takeOut() {
      const [numbers, templates] = [at('recipe'), at('template')]
      for (const { i, hash, recipe } of derived) {
        numbers[i] = recipe
        templates[i] = hash
        packed[i] = null
      }
    },
  }
}

/** Puts back what `deriveEvents` took out of rows of `events`. */
export function restoreEvents(
  columns: readonly Column[],
  values: Columns,
  recipes: readonly string[],
  known: EpochValues,
): void {
  const at = columnsAt(columns, values)
  const [keys, epochs, packed, templates] = [at('job_key'), at('epoch'), at('packed'), at('template')]
  for (const [i, number] of at('recipe').entries()) {
    if (number === null) continue
    const epoch = epochs[i] as number
    const texts = textsOf(recipes[number as number] ?? '', epoch, known.of(keys[i] as number, epoch) ?? [])
    packed[i] = joinPacked(templates[i] as Uint8Array, texts)
  }
}

/** Takes the values out of rows of `metric_chunks`, to be called once a digest of them was made. */
export function takeOutChunks(columns: readonly Column[], values: Columns, known: EpochValues): void {
  const vals = columnsAt(columns, values)('vals')
  for (const { i, made } of chunksOf(columns, values, known))
    if (made().equals(vals[i] as Uint8Array)) vals[i] = null
}

export function restoreChunks(columns: readonly Column[], values: Columns, known: EpochValues): void {
  const vals = columnsAt(columns, values)('vals')
  for (const { i, made } of chunksOf(columns, values, known)) vals[i] ??= made()
}

function* chunksOf(columns: readonly Column[], values: Columns, known: EpochValues) {
  const at = columnsAt(columns, values)
  const series = at('series_no')
  const [first, last] = [stepsAt(at, 'first_high', 'first_epoch'), stepsAt(at, 'last_high', 'last_epoch')]
  for (const [i, jobKey] of at('job_key').entries())
    yield {
      i,
      made: () => known.chunk(jobKey as number, series[i] as number, first(i), last(i)),
    }
}

interface PackedEvent {
  /** Its row. */
  i: number
  hash: Buffer
  /** Its numbers as they were written. */
  texts: string[]
  epoch: number
  vals: Vals
}

/**
 * Where each number of a template comes from, as most events of a sample have it: `e` is the epoch, `j2` the value of the
 * third series as JavaScript writes it, `p2` as Python does, `=1.5` always the same.
 */
function recipeFor(group: readonly PackedEvent[]): string {
  const votes = (group[0] as PackedEvent).texts.map(() => new Map<string, number>())
  const step = Math.max(1, Math.floor(group.length / SAMPLE))
  for (let row = 0; row < group.length; row += step) {
    const { texts, epoch, vals } = group[row] as PackedEvent
    const sources = new Map<string, string[]>([[String(epoch), ['e']]])
    for (const [series, value] of vals.entries()) {
      if (value === null) continue
      for (const source of [`j${series}`, `p${series}`]) {
        const text = textOf(source, epoch, vals)
        sources.set(text, [...(sources.get(text) ?? []), source])
      }
    }
    for (const [i, text] of texts.entries()) {
      const of = votes[i]
      for (const source of [...(sources.get(text) ?? []), `=${text}`])
        of?.set(source, (of.get(source) ?? 0) + 1)
    }
  }
  return votes.map((of) => [...of].reduce((best, one) => (one[1] > best[1] ? one : best))[0]).join(' ')
}

const textsOf = (recipe: string, epoch: number, vals: Vals): string[] =>
  recipe === '' ? [] : recipe.split(' ').map((source) => textOf(source, epoch, vals))

function textOf(source: string, epoch: number, vals: Vals): string {
  if (source === 'e') return String(epoch)
  if (source.startsWith('=')) return source.slice(1)
  const value = vals[Number(source.slice(1))]
  if (typeof value !== 'number' || !Number.isFinite(value)) return ''
  return source.startsWith('p') ? pythonText(value) : Object.is(value, -0) ? '-0' : String(value)
}

/** A float as Python's `repr` and `json` write it: the same digits as in JavaScript, with an exponent from other sizes on. */
function pythonText(value: number): string {
  const text = String(Object.is(value, -0) ? '-0' : value)
  const size = Math.abs(value)
  if (size === 0 || (size >= 1e-4 && size < 1e16)) return /^-?\d+$/.test(text) ? `${text}.0` : text
  const [digits, exponent] = value.toExponential().split('e') as [string, string]
  return `${digits}e${exponent[0]}${exponent.slice(1).padStart(2, '0')}`
}
