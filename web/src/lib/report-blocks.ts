/**
 * The blocks of a report: Markdown, and lines that embed a run. `@batch(id)` shows its state, `@chart(id, series, …)`
 * live charts of its jobs, `@media(id, key, …)` their media, `@jobs(id)` a table of them, `@sweep(id)` its parameters and results. `@runs(query)` lists
 * the batches of the project that a query finds, `@view(id)` names a saved view. Ids with a comma or parenthesis are quoted.
 */
export type ReportBlock =
  | { kind: 'text'; text: string }
  | { kind: 'batch' | 'jobs' | 'sweep'; id: string }
  | { kind: 'view'; id: string }
  | { kind: 'runs'; query: string }
  | { kind: 'chart' | 'media'; id: string; series: string[] }
  | { kind: 'wrong'; text: string; why: string }

const DIRECTIVE = /^@(\w+)\((.*)\)\s*$/
const FENCE = /^\s*(```|~~~)/

export function reportBlocks(body: string): ReportBlock[] {
  const blocks: ReportBlock[] = []
  let text: string[] = []
  let fence: string | null = null
  const endText = (): void => {
    const joined = text.join('\n').trim()
    if (joined !== '') blocks.push({ kind: 'text', text: joined })
    text = []
  }
  for (const line of body.split(/\r?\n/)) {
    const [, mark] = FENCE.exec(line) ?? []
    if (mark !== undefined && (fence === null || fence === mark)) fence = fence === null ? mark : null
    const [, name, rest = ''] = (fence === null && DIRECTIVE.exec(line)) || []
    if (name === undefined) text.push(line)
    else {
      endText()
      blocks.push(
        name === 'runs'
          ? { kind: 'runs', query: rest.trim() }
          : embedded(line.trim(), name, argumentsOf(rest)),
      )
    }
  }
  endText()
  return blocks
}

const KINDS = ['batch', 'chart', 'media', 'jobs', 'sweep', 'view'] as const
const isKind = (name: string): name is (typeof KINDS)[number] => KINDS.some((one) => one === name)

const argumentsOf = (text: string): string[] =>
  [...text.matchAll(/\s*"([^"]*)"\s*|[^,]+/g)]
    .map(([all, quoted]) => quoted ?? all.trim())
    .filter((one) => one !== '')

function embedded(text: string, name: string, [id, ...series]: string[]): ReportBlock {
  if (!isKind(name))
    return {
      kind: 'wrong',
      text,
      why: `There is no @${name}: use @batch, @chart, @media, @jobs, @sweep, @runs or @view`,
    }
  if (id === undefined)
    return {
      kind: 'wrong',
      text,
      why: `@${name} needs the id of a ${name === 'view' ? 'saved view' : 'batch'}`,
    }
  return name === 'chart' || name === 'media' ? { kind: name, id, series } : { kind: name, id }
}

/** An id as an argument, quoted if necessary. */
export const quotedId = (id: string): string => (/[,()]/.test(id) ? `"${id}"` : id)

/** The text of a report with these blocks; parsed, it has the same blocks, but for neighbouring texts, which it joins. */
export const printBlocks = (blocks: readonly ReportBlock[]): string =>
  blocks
    .map(printBlock)
    .filter((text) => text.trim() !== '')
    .join('\n\n')

function printBlock(block: ReportBlock): string {
  switch (block.kind) {
    case 'text':
    case 'wrong':
      return block.text
    case 'runs':
      return `@runs(${block.query.replaceAll(/\s+/g, ' ').trim()})`
    case 'chart':
    case 'media':
      return `@${block.kind}(${[block.id, ...block.series].map(quotedId).join(', ')})`
    default:
      return `@${block.kind}(${quotedId(block.id)})`
  }
}

/** The initial text of a new report about these batches. */
export const draftOf = (ids: readonly string[]): string =>
  ids
    .map((id) => `## ${id}\n\n@batch(${quotedId(id)})\n@chart(${quotedId(id)})\n@jobs(${quotedId(id)})\n`)
    .join('\n')
