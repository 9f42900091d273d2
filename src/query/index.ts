export { LOOKUP, matches, type Row } from './evaluate.ts'
export {
  type FieldKind,
  type FieldKinds,
  faultOf,
  fieldNamed,
  flagIn,
  instantIn,
  offeredName,
  STATES,
} from './fields.ts'
export {
  type Formula,
  formulaNames,
  formulaValue,
  isFormula,
  MAX_FORMULA_LENGTH,
  operate,
  parseColumnFormula,
  parseFormula,
  pointFunction,
  seriesFunctions,
} from './formula.ts'
export { FUNCTIONS } from './formula-functions.ts'
export {
  bestOf,
  lessIsBetter,
  type Name,
  type Possession,
  PREFIXES,
  type Prefix,
  possessionOf,
  readName,
} from './names.ts'
export { print, printComparison, quoted, quotedName, wordOf } from './print.ts'
export { MAX_DEPTH, MAX_LENGTH, MAX_TERMS, parse, partsOf, termsOf } from './syntax.ts'
export type { Comparison, Fault, Operator, Parsed, Query, Term, Words } from './types.ts'
export { meets, NUMBER_PATTERN, numberIn } from './values.ts'
