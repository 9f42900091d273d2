/**
 * A model of the append without a global lock (docs/decisions/0020): every interleaving of a few writers and one
 * reader is tried. It knows nothing of SQL; each step is what PostgreSQL does atomically.
 *
 * A writer takes its batch's row lock and the lock that it shares with other writers, reads the sequence, announces that
 * number, draws its seqs, then commits (its rows become visible) or aborts, then drops its locks. A writer of an
 * earlier release announces nothing and takes the shared lock alone.
 * The reader repeats its steps, whose order is what the model is about.
 */
export type ReaderStep = 'newest' | 'announced' | 'page'

export interface Rules {
  /** What each writer writes: its batch, how many rows, and whether it aborts. Writers of one batch wait for each other. */
  writers: readonly { batch: string; rows: number; aborts?: true; earlier?: true }[]
  /** The reader's steps of one read, in order. 'newest' and 'announced' bound the page that 'page' reads. */
  look: readonly ReaderStep[]
  /** Reads that may happen anywhere between the writers' steps; one more follows when all writers are done. */
  looks: number
  /** When a writer announces itself. */
  announce: 'before the draw' | 'after the draw' | 'never'
  /** How a writer of this release takes the lock that one of an earlier release takes alone. */
  joins: 'shared' | 'alone' | 'never'
}

export interface Found {
  states: number
  /** Histories that end with a committed row not delivered, one delivered twice, or a batch out of its order. */
  lost: number
  repeated: number
  outOfOrder: number
}

interface Row {
  seq: number
  batch: string
  nth: number
}

interface State {
  last: number
  pc: number[]
  announced: (number | null)[]
  drawn: Row[][]
  holder: Record<string, number | undefined>
  joined: ('shared' | 'alone' | 'never')[]
  visible: Row[]
  commits: Record<string, number>
  reader: {
    step: number
    looks: number
    newest: number
    announced: number
    page: Row[]
    head: number
    got: Row[]
  }
}

const STEPS = 5
/** Beyond every seq: no bound. A number that JSON keeps, because states are compared as text. */
const FAR = 1e9

export function explore(rules: Rules): Found {
  const found: Found = { states: 0, lost: 0, repeated: 0, outOfOrder: 0 }
  const seen = new Set<string>()
  const first: State = {
    last: 0,
    pc: rules.writers.map(() => 0),
    announced: rules.writers.map(() => null),
    drawn: rules.writers.map(() => []),
    holder: {},
    joined: rules.writers.map(() => 'never'),
    visible: [],
    commits: {},
    reader: { step: 0, looks: 0, newest: FAR, announced: FAR, page: [], head: 0, got: [] },
  }
  const open = [first]
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const key = JSON.stringify(state)
    if (seen.has(key)) continue
    seen.add(key)
    found.states++
    const quiet = state.pc.every((pc) => pc === STEPS)
    for (let w = 0; w < rules.writers.length; w++) {
      const next = stepWriter(state, w, rules)
      if (next !== undefined) open.push(next)
    }
    const { looks, step } = state.reader
    if (looks < rules.looks || step > 0) open.push(stepReader(state, rules))
    else if (quiet) judge(wholeLook(state, rules), found)
  }
  return found
}

function stepWriter(before: State, w: number, { writers, announce: rule, joins }: Rules): State | undefined {
  const pc = before.pc[w] as number
  if (pc === STEPS) return undefined
  const { batch, rows, aborts, earlier } = writers[w] as Rules['writers'][number]
  const announce = earlier === true ? 'never' : rule
  const join = earlier === true ? 'alone' : joins
  if (pc === 0) {
    const inTheWay = { alone: ['shared', 'alone'], shared: ['alone'], never: [] as string[] }[join]
    if (before.holder[batch] !== undefined) return undefined
    if (before.joined.some((held) => inTheWay.includes(held))) return undefined
  }
  const state = structuredClone(before)
  state.pc[w] = pc + 1
  if (pc === 0) {
    state.holder[batch] = w
    state.joined[w] = join
    // The sequence is read here and announced in the next step: others may draw in between.
    state.drawn[w] = [{ seq: state.last, batch, nth: 0 }]
  } else if (pc === 1) {
    if (announce === 'before the draw') state.announced[w] = (state.drawn[w] as Row[])[0]?.seq ?? 0
  } else if (pc === 2) {
    state.drawn[w] = Array.from({ length: rows }, (_, i) => ({ seq: state.last + 1 + i, batch, nth: 0 }))
    state.last += rows
  } else if (pc === 3) {
    if (announce === 'after the draw' && state.announced[w] === null) {
      state.announced[w] = ((state.drawn[w] as Row[])[0]?.seq ?? 0) - 1
      state.pc[w] = pc
      return state
    }
    if (aborts !== true)
      for (const row of state.drawn[w] as Row[]) {
        const nth = (state.commits[batch] ?? 0) + 1
        state.commits[batch] = nth
        state.visible.push({ ...row, nth })
      }
  } else {
    state.announced[w] = null
    state.joined[w] = 'never'
    state.holder[batch] = undefined
  }
  return state
}

function stepReader(before: State, { look }: Rules): State {
  const state = structuredClone(before)
  const { reader } = state
  const step = look[reader.step] as ReaderStep
  if (step === 'newest') reader.newest = state.last
  else if (step === 'announced')
    reader.announced = Math.min(FAR, ...state.announced.filter((seq): seq is number => seq !== null))
  else reader.page = state.visible.filter((row) => row.seq > reader.head)
  reader.step++
  if (reader.step < look.length) return state
  // The bound holds for the page whichever was read first: that is what the order of the steps may break.
  const upTo = Math.min(reader.newest, reader.announced)
  const page = reader.page.filter((row) => row.seq <= upTo).sort((a, b) => a.seq - b.seq)
  reader.got.push(...page)
  // Only a row that was seen moves the head: numbers beyond it may be given again after a crash.
  reader.head = Math.max(reader.head, ...page.map((row) => row.seq))
  Object.assign(reader, { step: 0, looks: reader.looks + 1, newest: FAR, announced: FAR, page: [] })
  return state
}

function wholeLook(state: State, rules: Rules): State {
  let after = state
  for (let i = 0; i < rules.look.length; i++) after = stepReader(after, rules)
  return after
}

function judge({ visible, reader }: State, found: Found): void {
  const got = new Set(reader.got.map((row) => row.seq))
  if (visible.some((row) => !got.has(row.seq))) found.lost++
  if (got.size < reader.got.length) found.repeated++
  const lastOf = new Map<string, number>()
  for (const { batch, nth } of reader.got) {
    if (nth < (lastOf.get(batch) ?? 0)) found.outOfOrder++
    lastOf.set(batch, nth)
  }
}
