import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, totalmem } from 'node:os'
import { join } from 'node:path'
import { between } from '../../scripts/markers.ts'
import { type Figure, isReached, tableOf, timesBetter } from './report.ts'

const DOCS = join(import.meta.dirname, '..', '..', 'docs')

/** The figures of one bench, in the order in which it told them. */
export interface Section {
  name: string
  seconds: number
  figures: Figure[]
}

/** Writes what one whole run measured into docs/performance.md, between its markers, and draws it. */
export function writePerformance(sections: readonly Section[]): void {
  const figures = sections.flatMap((s) => s.figures)
  const judged = figures.filter((f) => isReached(f) !== undefined)
  const reached = judged.filter((f) => isReached(f) === true)
  const failed = sections.filter((s) => s.figures.some((f) => f.what === 'failed')).map((s) => s.name)
  const content = [
    `Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit()}: ${availableParallelism()} cores, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}; ` +
      `${(sections.reduce((sum, s) => sum + s.seconds, 0) / 60).toFixed(0)} minutes in one run.`,
    '',
    `**${reached.length} of ${judged.length} aims reached.**${failed.length === 0 ? '' : ` Not measured, and not among them: ${failed.join(', ')}.`}`,
    '',
    '![Each figure against its aim](images/performance.svg)',
    ...sections.flatMap(({ name, seconds, figures }) => [
      '',
      `### ${name}`,
      '',
      `\`npm run bench -- ${name}\`, ${seconds.toFixed(0)} s`,
      '',
      tableOf(figures),
    ]),
  ].join('\n')
  const file = join(DOCS, 'performance.md')
  writeFileSync(file, between(readFileSync(file, 'utf8'), 'figures', content))
  writeFileSync(join(DOCS, 'images', 'performance.svg'), drawn(sections))
}

const commit = (): string =>
  execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: DOCS, encoding: 'utf8' }).trim()

const ROW = 18
const LABEL = 400
const PLOT = 460
/** The axis reaches from a tenth of the aim to ten times better; what lies beyond ends at its edge. */
const DECADES = 1

/** One bar a figure that has an aim: to the right of the line it is better than its aim, to the left worse. */
function drawn(sections: readonly Section[]): string {
  const rows = sections.flatMap(({ name, figures }) =>
    figures.flatMap((figure) => {
      const times = timesBetter(figure)
      return times === undefined ? [] : [{ label: `${name}: ${figure.what}`, times }]
    }),
  )
  const height = rows.length * ROW + 40
  const zero = LABEL + PLOT / 2
  const at = (times: number): number =>
    zero + (Math.max(-DECADES, Math.min(DECADES, Math.log10(times))) / DECADES) * (PLOT / 2)
  const bars = rows.map(({ label, times }, i) => {
    const y = 20 + i * ROW
    const [from, to] = [Math.min(zero, at(times)), Math.max(zero, at(times))]
    const kind = times >= 1 ? 'good' : 'bad'
    const shown = label.length > 66 ? `${label.slice(0, 65)}…` : label
    return `<text x="${LABEL - 8}" y="${y + 12}" text-anchor="end">${escaped(shown)}</text>
<rect class="${kind}" x="${from.toFixed(1)}" y="${y + 3}" width="${Math.max(1, to - from).toFixed(1)}" height="${ROW - 6}"/>
<text x="${LABEL + PLOT + 8}" y="${y + 12}">${Number.isFinite(times) ? times.toFixed(2) : '∞'}</text>`
  })
  const ticks = [0.1, 0.2, 0.5, 1, 2, 5, 10].map(
    (value) =>
      `<line class="${value === 1 ? 'aim' : 'tick'}" x1="${at(value).toFixed(1)}" x2="${at(value).toFixed(1)}" y1="16" y2="${height - 16}"/>
<text x="${at(value).toFixed(1)}" y="${height - 3}" text-anchor="middle">${value === 1 ? 'aim' : `${value}×`}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${LABEL + PLOT + 60} ${height}" role="img" aria-label="Each figure against its aim; to the right is better">
<style>
text { font: 11px system-ui, sans-serif; fill: #57606a }
.good { fill: #2f81f7 } .bad { fill: #d9730d } .tick { stroke: #8b949e; stroke-opacity: .25 } .aim { stroke: #8b949e }
@media (prefers-color-scheme: dark) { text { fill: #adbac7 } }
</style>
${ticks.join('\n')}
${bars.join('\n')}
</svg>
`
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
