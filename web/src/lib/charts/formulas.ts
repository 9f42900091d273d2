import { formulaNames, isFormula, parseFormula } from '../../../../src/query/index.ts'

/** Charts of formulas, which the service computes: series whose names begin with `=`. */

export { isFormula }

/** The stored series that a chart needs. */
export function formulaInputs(key: string): readonly string[] {
  if (!isFormula(key)) return [key]
  const { formula } = parseFormula(key)
  return formula === null ? [] : formulaNames(formula)
}

/** The stored form of a formula: `=` and the text without spaces around it. */
export const formulaKey = (text: string): string => `=${text.trim().replace(/^=\s*/, '')}`

/** The series of a page with the formulas after them. */
export const withFormulas = (keys: readonly string[], formulas: readonly string[] = []): readonly string[] =>
  formulas.length === 0 ? keys : [...keys, ...formulas.filter((one) => !keys.includes(one))]
