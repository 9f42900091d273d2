/**
 * The formulas of columns and charts (docs/formulas.md): `=val_loss - train_loss`, `=ema(loss, 0.9)`. Service and page read
 * them with this parser. A formula only computes numbers: it has no loops, no memory of its own and a bounded size.
 */

import { declared, FUNCTIONS, type FunctionName } from './formula-functions.ts'
import { FormulaRefused, type FormulaToken, formulaTokens } from './formula-tokens.ts'

export const MAX_FORMULA_LENGTH = 512
export const MAX_FORMULA_NODES = 64
export const MAX_FORMULA_NAMES = 8
const MAX_FORMULA_DEPTH = 20
/** The longest window of `mean`. */
const MAX_WINDOW = 100_000
export type Operator = '+' | '-' | '*' | '/' | '^'
export type Formula =
  | { kind: 'number'; value: number }
  | { kind: 'name'; name: string }
  | { kind: 'minus'; of: Formula }
  | { kind: 'op'; op: Operator; left: Formula; right: Formula }
  | { kind: 'call'; name: FunctionName; args: readonly Formula[] }

/** Where a formula is not understood: characters from and to, from 0. */
export interface FormulaFault {
  message: string
  from: number
  to: number
}
export type ParsedFormula = { formula: Formula; fault: null } | { formula: null; fault: FormulaFault }

/** Names of series and columns that begin with `=` are formulas. */
export const isFormula = (name: string): boolean => name.startsWith('=')

/** Parses the text of a formula, with or without the leading `=`; never throws. */
export function parseFormula(text: string): ParsedFormula {
  try {
    if (text.length > MAX_FORMULA_LENGTH)
      throw new FormulaRefused(`A formula has at most ${MAX_FORMULA_LENGTH} characters`, {
        from: MAX_FORMULA_LENGTH,
        to: text.length,
      })
    return { formula: new Reader(formulaTokens(text, isFormula(text) ? 1 : 0)).whole(), fault: null }
  } catch (error) {
    if (error instanceof FormulaRefused)
      return { formula: null, fault: { message: error.message, from: error.from, to: error.to } }
    throw error
  }
}

/** Recursive descent: sums of products of powers of signed values. */
class Reader {
  readonly #tokens: readonly FormulaToken[]
  readonly #names = new Set<string>()
  #at = 0
  #nodes = 0
  #depth = 0

  constructor(tokens: readonly FormulaToken[]) {
    this.#tokens = tokens
  }

  whole(): Formula {
    const formula = this.#sum()
    const rest = this.#now
    if (rest.kind !== 'end') throw new FormulaRefused('An operator is missing before this', rest)
    if (this.#names.size === 0) throw new FormulaRefused('A formula needs a name, such as val_loss', rest)
    return formula
  }

  get #now(): FormulaToken {
    return this.#tokens[this.#at] ?? { kind: 'end', text: '', from: 0, to: 0 }
  }

  #sign(...signs: string[]): string | undefined {
    const { kind, text } = this.#now
    if (kind !== 'sign' || !signs.includes(text)) return undefined
    this.#at++
    return text
  }

  #made(formula: Formula, at: FormulaToken): Formula {
    if (++this.#nodes > MAX_FORMULA_NODES)
      throw new FormulaRefused(`A formula has at most ${MAX_FORMULA_NODES} names, numbers and operators`, at)
    return formula
  }

  #sum(): Formula {
    const start = this.#now
    if (++this.#depth > MAX_FORMULA_DEPTH)
      throw new FormulaRefused(`Brackets are nested at most ${MAX_FORMULA_DEPTH} deep`, start)
    let left = this.#product()
    for (;;) {
      const at = this.#now
      const op = this.#sign('+', '-')
      if (op === undefined) break
      left = this.#made({ kind: 'op', op: op as Operator, left, right: this.#product() }, at)
    }
    this.#depth--
    return left
  }

  #product(): Formula {
    let left = this.#signed()
    for (;;) {
      const at = this.#now
      const op = this.#sign('*', '/')
      if (op === undefined) return left
      left = this.#made({ kind: 'op', op: op as Operator, left, right: this.#signed() }, at)
    }
  }

  /** `-x^2` is `-(x^2)`, as in mathematics. */
  #signed(): Formula {
    const at = this.#now
    if (this.#sign('-') === undefined) return this.#power()
    if (++this.#depth > MAX_FORMULA_DEPTH) throw new FormulaRefused('Too many signs', at)
    const of = this.#signed()
    this.#depth--
    return this.#made({ kind: 'minus', of }, at)
  }

  #power(): Formula {
    const left = this.#value()
    const at = this.#now
    if (this.#sign('^') === undefined) return left
    if (++this.#depth > MAX_FORMULA_DEPTH) throw new FormulaRefused('Too many powers', at)
    const right = this.#signed()
    this.#depth--
    return this.#made({ kind: 'op', op: '^', left, right }, at)
  }

  #value(): Formula {
    const token = this.#now
    if (token.kind === 'sign' && token.text === '(') {
      this.#at++
      const inner = this.#sum()
      if (this.#sign(')') === undefined) throw new FormulaRefused('This bracket is not closed', token)
      return inner
    }
    if (token.kind === 'number') {
      this.#at++
      const value = Number(token.text)
      if (!Number.isFinite(value)) throw new FormulaRefused(`${token.text} is too large`, token)
      return this.#made({ kind: 'number', value }, token)
    }
    if (token.kind !== 'name' || token.text === '')
      throw new FormulaRefused(
        token.kind === 'end' ? 'A name or number is missing at the end' : 'A name or number is missing here',
        token,
      )
    this.#at++
    return this.#sign('(') === undefined ? this.#named(token) : this.#call(token)
  }

  #named(token: FormulaToken): Formula {
    this.#names.add(token.text)
    if (token.text.length > 128) throw new FormulaRefused('A name has at most 128 characters', token)
    if (this.#names.size > MAX_FORMULA_NAMES)
      throw new FormulaRefused(`A formula has at most ${MAX_FORMULA_NAMES} different names`, token)
    return this.#made({ kind: 'name', name: token.text }, token)
  }

  #call(token: FormulaToken): Formula {
    const { text: name } = token
    if (!Object.hasOwn(FUNCTIONS, name))
      throw new FormulaRefused(`${name} is not a function: ${Object.keys(FUNCTIONS).join(', ')}`, token)
    const args: Formula[] = []
    do args.push(this.#sum())
    while (this.#sign(',') !== undefined)
    if (this.#sign(')') === undefined) throw new FormulaRefused('This bracket is not closed', token)
    const call = { kind: 'call', name: name as FunctionName, args } as const
    const message = argumentFault(call)
    if (message !== undefined) throw new FormulaRefused(message, token)
    return this.#made(call, token)
  }
}

function argumentFault({ name, args }: Extract<Formula, { kind: 'call' }>): string | undefined {
  const {
    args: [least, most],
    second,
  } = declared(name)
  if (args.length < least || args.length > most)
    return least === most
      ? `${name} has ${least} ${least === 1 ? 'argument' : 'arguments'}`
      : `${name} has ${least} to ${most} arguments`
  if (second === undefined) return undefined
  const value = args[1]?.kind === 'number' ? args[1].value : Number.NaN
  if (second === 'weight')
    return value >= 0 && value < 1 ? undefined : `${name}: the second argument is a number, 0 to below 1`
  return Number.isInteger(value) && value >= 1 && value <= MAX_WINDOW
    ? undefined
    : `${name}: the second argument is a whole number, 1 to ${MAX_WINDOW.toLocaleString('en')}`
}

function* nodesOf(formula: Formula): Generator<Formula> {
  yield formula
  if (formula.kind === 'minus') yield* nodesOf(formula.of)
  if (formula.kind === 'op') {
    yield* nodesOf(formula.left)
    yield* nodesOf(formula.right)
  }
  if (formula.kind === 'call') for (const arg of formula.args) yield* nodesOf(arg)
}

/** The different names in a formula, in order. */
export const formulaNames = (formula: Formula): string[] => [
  ...new Set([...nodesOf(formula)].flatMap((node) => (node.kind === 'name' ? [node.name] : []))),
]

/** The functions in a formula that look at earlier points. */
export const seriesFunctions = (formula: Formula): FunctionName[] =>
  [...nodesOf(formula)].flatMap((node) =>
    node.kind === 'call' && declared(node.name).of === undefined ? [node.name] : [],
  )

/** Parses the formula of a column, which has one value for each row; functions of series are refused. */
export function parseColumnFormula(text: string): ParsedFormula {
  const parsed = parseFormula(text)
  if (parsed.formula === null) return parsed
  const [name] = seriesFunctions(parsed.formula)
  if (name === undefined) return parsed
  const from = text.indexOf(name)
  const message = `${name} needs the points of a series, so it works in charts but not in columns`
  return { formula: null, fault: { message, from, to: from + name.length } }
}

export const operate = (op: Operator, left: number, right: number): number => {
  switch (op) {
    case '+':
      return left + right
    case '-':
      return left - right
    case '*':
      return left * right
    case '/':
      return left / right
    default:
      return left ** right
  }
}

/** The function of one point; undefined for functions of series. */
export const pointFunction = (name: FunctionName): ((...values: number[]) => number) | undefined =>
  declared(name).of

/** The value of a column's formula; undefined if a name has none. */
export function formulaValue(
  formula: Formula,
  named: (name: string) => number | undefined,
): number | undefined {
  switch (formula.kind) {
    case 'number':
      return formula.value
    case 'name':
      return named(formula.name)
    case 'minus': {
      const value = formulaValue(formula.of, named)
      return value === undefined ? undefined : -value
    }
    case 'op': {
      const [left, right] = [formulaValue(formula.left, named), formulaValue(formula.right, named)]
      return left === undefined || right === undefined ? undefined : operate(formula.op, left, right)
    }
    default: {
      const values = formula.args.map((arg) => formulaValue(arg, named))
      const known = values.filter((value) => value !== undefined)
      return known.length < values.length ? undefined : pointFunction(formula.name)?.(...known)
    }
  }
}
