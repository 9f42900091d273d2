import type { Curves } from '../../charts/curves.ts'
import type { Series } from '../../lib/api/series-frames.ts'
import type { Numeric } from '../../lib/api/wire-row.ts'
import { COLOURS, type ColourOf, colourAt } from '../../lib/charts/colours.ts'
import { MIB_PER_GIB } from '../../lib/memory.ts'

/** Builds the charts of resources: for each measure, the GPUs of a machine are curves of one chart. */

export interface ResourceCharts {
  groups: readonly { title: string; keys: readonly string[] }[]
  /** Charts whose curves are GPUs, by the chart's name. */
  curves: ReadonlyMap<string, Curves>
  /** The names of GPUs, by the part of a series name that identifies them. */
  gpuNames: ReadonlyMap<string, string>
  /** The utilisation series of GPUs. */
  utilisation: readonly string[]
}

const GPU_KEY = /^gpus\/(.+)\/([^/]+)$/
/** Fields of a GPU in a snapshot, in the order of the charts. */
const MEASURES: readonly { field: string; title: string; unit: string; divisor?: number; most?: number }[] = [
  { field: 'util_pct', title: 'GPU utilisation', unit: '%', most: 100 },
  { field: 'mem_mb', title: 'GPU memory', unit: 'GiB', divisor: MIB_PER_GIB },
  { field: 'temp_c', title: 'GPU temperature', unit: '°C' },
  { field: 'power_w', title: 'GPU power', unit: 'W' },
]
/** Fields that describe other series and have no chart. */
const FACTS = new Set(['index', 'mem_total_mb'])
/** Series of a whole machine or job: the chart, and the series with the total. */
const TOGETHER: Readonly<Record<string, { title: string; unit: string; most?: number; totalKey?: string }>> =
  {
    gpu_util_pct: { title: 'All GPUs: utilisation', unit: '%', most: 100 },
    gpu_mem_mb: { title: 'All GPUs: memory', unit: 'GiB' },
    cpu_util_pct: { title: 'CPU utilisation', unit: '%', most: 100 },
    ram_mb: { title: 'Memory in use', unit: 'GiB', totalKey: 'ram_total_mb' },
    disk_free_mb: { title: 'Free disk space', unit: 'GiB' },
  }
const IN_MIB = /_mb$/

/** @param several whether charts cover several jobs or batches, whose names are then part of the names of curves */
export function resourceCharts(series: readonly Series[], several: boolean): ResourceCharts {
  const keys = [...new Set(series.map(({ key }) => key))]
  const gpuNames = namesOfGpus(series)
  const curves = gpuCurves(keys, { names: gpuNames, total: totalOf(series), several })
  const totals = new Set(Object.values(TOGETHER).flatMap(({ totalKey }) => totalKey ?? []))
  const groups = new Map<string, string[]>()
  if (curves.size > 0) groups.set('GPUs', [...curves.keys()])
  for (const key of keys) {
    if (GPU_KEY.test(key) || totals.has(key)) continue
    const title = titleOf(key)
    const made = togetherOf(key, series)
    const name = made === undefined || keys.includes(made.name) ? key : made.name
    if (made) curves.set(name, made.curves)
    groups.set(title, [...(groups.get(title) ?? []), name])
  }
  return {
    gpuNames,
    curves,
    utilisation: ['gpu_util_pct', ...[...gpuNames.keys()].map((gpu) => `gpus/${gpu}/util_pct`)].filter(
      (key) => keys.includes(key),
    ),
    groups: [...groups]
      .map(([title, keys]) => ({ title, keys: title === 'GPUs' ? keys : keys.sort(byUse) }))
      .sort((a, b) => ORDER.indexOf(a.title) - ORDER.indexOf(b.title)),
  }
}

/** A resource series among metrics: `GPU 0 utilisation (%)`. */
export interface NamedResource {
  key: string
  divisor: number
}

/** The names of a job's resource series among its metrics. */
export function namedResources(series: readonly Series[]): ReadonlyMap<string, NamedResource> {
  const { curves } = resourceCharts(series, false)
  return new Map(
    [...curves].flatMap(([title, { keys, nameOf, unit, divisor = 1 }]) =>
      keys.map((key) => {
        const name = GPU_KEY.test(key) ? `${nameOf('', key)} ${title.replace(/^GPU /, '')}` : title
        return [unit === undefined ? name : `${name} (${unit})`, { key, divisor }] as const
      }),
    ),
  )
}

/** A chart of one series with a unit: known series, and series in MiB, which are shown in GiB. */
function togetherOf(key: string, series: readonly Series[]): { name: string; curves: Curves } | undefined {
  const known = TOGETHER[key]
  if (known === undefined && !IN_MIB.test(key)) return undefined
  const total = known?.totalKey === undefined ? undefined : greatest(series, known.totalKey)
  const most = known?.most ?? total
  return {
    name: known?.title ?? key.replace(IN_MIB, ''),
    curves: {
      keys: [key],
      right: new Set(),
      nameOf: (owner) => owner,
      colourKeyOf: (owner) => owner,
      unit: known?.unit ?? 'GiB',
      ...(IN_MIB.test(key) && { divisor: MIB_PER_GIB }),
      ...(total !== undefined && { total }),
      ...(most !== undefined && { span: [0, most] }),
    },
  }
}

/** The largest last value, in GiB, over machines or jobs. */
function greatest(series: readonly Series[], wanted: string): number | undefined {
  const found = series.flatMap(({ key, values }) => (key === wanted ? [last(values) / MIB_PER_GIB] : []))
  return found.length > 0 ? Math.max(...found) : undefined
}

const last = (values: readonly Numeric[]): number => Number(values.at(-1))

/** GPUs are named by index if it is known, otherwise by position. */
function namesOfGpus(series: readonly Series[]): Map<string, string> {
  const gpus = new Map<string, number | undefined>()
  for (const { key, values } of series) {
    const [, gpu, field] = GPU_KEY.exec(key) ?? []
    if (gpu === undefined) continue
    const index = field === 'index' ? last(values) : /^\d+$/.test(gpu) ? Number(gpu) : undefined
    gpus.set(gpu, gpus.get(gpu) ?? index)
  }
  const sorted = [...gpus].sort(
    ([a, i], [b, j]) => (i ?? gpus.size) - (j ?? gpus.size) || a.localeCompare(b, 'en', { numeric: true }),
  )
  return new Map(sorted.map(([gpu, index], place) => [gpu, `GPU ${index ?? place}`]))
}

/** In GiB. Usually all GPUs of a machine have the same memory. */
function totalOf(series: readonly Series[]): number | undefined {
  const totals = series.flatMap(({ key, values }) =>
    GPU_KEY.exec(key)?.[2] === 'mem_total_mb' ? [last(values) / MIB_PER_GIB] : [],
  )
  return totals.length > 0 ? Math.max(...totals) : undefined
}

interface Gpus {
  names: ReadonlyMap<string, string>
  total: number | undefined
  several: boolean
}

function gpuCurves(keys: readonly string[], gpus: Gpus): Map<string, Curves> {
  const byField = new Map<string, string[]>()
  for (const gpu of gpus.names.keys()) {
    for (const key of keys) {
      const [, of, field] = GPU_KEY.exec(key) ?? []
      if (of !== gpu || field === undefined || FACTS.has(field)) continue
      byField.set(field, [...(byField.get(field) ?? []), key])
    }
  }
  const rank = (field: string): number => {
    const at = MEASURES.findIndex((one) => one.field === field)
    return at < 0 ? MEASURES.length : at
  }
  const sorted = [...byField].sort(([a], [b]) => rank(a) - rank(b) || a.localeCompare(b))
  return new Map(
    sorted.map(([field, keys]) => {
      const measure = MEASURES.find((one) => one.field === field)
      return [measure?.title ?? `GPU ${field}`, { axis: field, ...curvesOfMeasure(keys, measure, gpus) }]
    }),
  )
}

function curvesOfMeasure(
  keys: readonly string[],
  measure: (typeof MEASURES)[number] | undefined,
  { names, total, several }: Gpus,
): Curves {
  const gpuOf = (key: string): string => names.get(GPU_KEY.exec(key)?.[1] ?? '') ?? key
  const memory = measure?.field === 'mem_mb'
  const most = memory ? total : measure?.most
  return {
    keys,
    right: new Set(),
    nameOf: (owner, key) => (!several || owner === 'batch' ? gpuOf(key) : `${gpuOf(key)} · ${owner}`),
    colourKeyOf: (_, key) => gpuOf(key),
    colourOf: gpuColours(names),
    ...(measure && { unit: measure.unit }),
    ...(memory && total !== undefined && { total }),
    ...(measure?.divisor !== undefined && { divisor: measure.divisor }),
    ...(most !== undefined && { span: [0, most] }),
  }
}

/** By position, so that the first eight colours differ; the same in every chart. */
export function gpuColours(names: ReadonlyMap<string, string>): ColourOf {
  const places = new Map([...new Set(names.values())].map((name, place) => [name, place % COLOURS]))
  return (name, theme) => colourAt(places.get(name) ?? 0, theme)
}

/** The section of a series: CPU, memory, disk, and so on. */
function titleOf(key: string): string {
  if (/gpu/.test(key)) return 'GPUs together'
  if (/cpu|load/.test(key)) return 'CPU'
  if (/ram|rss|mem|swap/.test(key)) return 'Memory'
  if (/disk/.test(key)) return 'Disk'
  return 'More'
}
const ORDER = ['GPUs', 'GPUs together', 'CPU', 'Memory', 'Disk', 'More']
const byUse = (a: string, b: string): number =>
  Number(!/util/.test(a)) - Number(!/util/.test(b)) || a.localeCompare(b)
