/** Plots as scripts send them. Nothing of it is trusted: what has another shape is not drawn. */

export interface PlotCurve {
  name: string
  x: number[]
  y: number[]
  /** The area under the curve. */
  area?: number
  isPoints?: boolean
}
interface Titled {
  title?: string | undefined
  xLabel?: string | undefined
  yLabel?: string | undefined
}
export type PlotData =
  | (Titled & { kind: 'curves'; curves: PlotCurve[]; diagonal: boolean; unit: boolean })
  | (Titled & { kind: 'bars'; labels: string[]; values: number[] })
  | (Titled & { kind: 'matrix'; rows: string[]; columns: string[]; cells: number[][]; isConfusion: boolean })
  /** A figure with parts that are not drawn here. */
  | (Titled & { kind: 'other'; parts: string[] })

type Fields = Readonly<Record<string, unknown>>
const MAX_POINTS = 20_000
const MAX_CURVES = 50
const MAX_CELLS = 200
const MAX_BARS = 200

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
const textOf = (value: unknown): string | undefined => {
  const text = typeof value === 'object' && value !== null ? fieldsOf(value).text : value
  return typeof text === 'string' && text !== '' ? text.slice(0, 200) : undefined
}
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : typedList(value))
const numbers = (value: unknown, max = MAX_POINTS): number[] =>
  list(value)
    .slice(0, max)
    .map((one) => (typeof one === 'number' ? one : Number.NaN))
const texts = (value: unknown, max: number): string[] =>
  list(value)
    .slice(0, max)
    .map((one) => String(one).slice(0, 80))

const TYPED = {
  f8: Float64Array,
  f4: Float32Array,
  i4: Int32Array,
  i2: Int16Array,
  i1: Int8Array,
  u4: Uint32Array,
  u2: Uint16Array,
  u1: Uint8Array,
}
/** Arrays as Plotly writes them: `{dtype, bdata}`. */
function typedList(value: unknown): unknown[] {
  const { dtype, bdata } = fieldsOf(value)
  const Typed = TYPED[String(dtype) as keyof typeof TYPED]
  if (Typed === undefined || typeof bdata !== 'string') return []
  const bytes = Uint8Array.from(atob(bdata), (sign) => sign.charCodeAt(0))
  return [...new Typed(bytes.buffer, 0, Math.floor(bytes.length / Typed.BYTES_PER_ELEMENT))]
}

/** @throws Error if it is not a plot */
export function readPlot(bytes: ArrayBuffer): PlotData {
  const given = fieldsOf(JSON.parse(new TextDecoder().decode(bytes)))
  if (typeof given.plot === 'string') return ownPlot(given.plot, given)
  if (Array.isArray(given.data)) return plotlyFigure(given.data.map(fieldsOf), fieldsOf(given.layout))
  throw new Error('This content is not a plot')
}

function ownPlot(kind: string, given: Fields): PlotData {
  const titles = {
    title: textOf(given.title),
    xLabel: textOf(given.x_label),
    yLabel: textOf(given.y_label),
  }
  if (kind === 'confusion_matrix') {
    const labels = texts(given.labels, MAX_CELLS)
    return {
      kind: 'matrix',
      title: titles.title,
      xLabel: titles.xLabel ?? 'Predicted',
      yLabel: titles.yLabel ?? 'True',
      rows: labels,
      columns: labels,
      cells: labels.map((_, i) => numbers(list(given.matrix)[i], labels.length)),
      isConfusion: true,
    }
  }
  if (kind === 'bars') return { kind, ...titles, ...barsOf(given.labels, given.values) }
  const isRoc = kind === 'roc_curve'
  const isRate = isRoc || kind === 'pr_curve'
  return {
    kind: 'curves',
    title: titles.title,
    xLabel: titles.xLabel ?? (isRoc ? 'False positive rate' : isRate ? 'Recall' : undefined),
    yLabel: titles.yLabel ?? (isRoc ? 'True positive rate' : isRate ? 'Precision' : undefined),
    curves: list(given.curves)
      .slice(0, MAX_CURVES)
      .map(fieldsOf)
      .map((curve, i) => curveOf(curve, i)),
    diagonal: isRoc,
    unit: isRate,
  }
}

function curveOf(given: Fields, i: number): PlotCurve {
  const y = numbers(given.y)
  const x = list(given.x).length > 0 ? numbers(given.x) : y.map((_, place) => place)
  return {
    name: textOf(given.name) ?? `curve ${i + 1}`,
    x,
    y,
    ...(typeof given.area === 'number' && { area: given.area }),
    ...(given.mode === 'markers' && { isPoints: true }),
  }
}

const barsOf = (labels: unknown, values: unknown) => {
  const found = numbers(values, MAX_BARS)
  const names = texts(labels, MAX_BARS)
  return { labels: found.map((_, i) => names[i] ?? String(i)), values: found }
}

/** The traces of a Plotly figure that have a counterpart; a figure of others is not drawn. */
function plotlyFigure(traces: readonly Fields[], layout: Fields): PlotData {
  const titles = {
    title: textOf(layout.title),
    xLabel: textOf(fieldsOf(layout.xaxis).title),
    yLabel: textOf(fieldsOf(layout.yaxis).title),
  }
  const types = traces.map((trace) => String(trace.type ?? 'scatter'))
  const [first = {}] = traces
  if (traces.length > 0 && types.every((type) => type === 'scatter' || type === 'scattergl'))
    if (traces.every((trace) => numbers(trace.x, 2).every(Number.isFinite)))
      return {
        kind: 'curves',
        ...titles,
        curves: traces.slice(0, MAX_CURVES).map(curveOf),
        diagonal: false,
        unit: false,
      }
  if (traces.length === 1 && types[0] === 'bar' && first.orientation !== 'h')
    return { kind: 'bars', ...titles, ...barsOf(first.x, first.y) }
  if (traces.length === 1 && types[0] === 'heatmap') {
    const cells = list(first.z)
      .slice(0, MAX_CELLS)
      .map((row) => numbers(row, MAX_CELLS))
    const [rows, columns] = [texts(first.y, MAX_CELLS), texts(first.x, MAX_CELLS)]
    return {
      kind: 'matrix',
      ...titles,
      rows: cells.map((_, i) => rows[i] ?? String(i)),
      columns: (cells[0] ?? []).map((_, i) => columns[i] ?? String(i)),
      cells,
      isConfusion: false,
    }
  }
  return { kind: 'other', ...titles, parts: [...new Set(types)] }
}
