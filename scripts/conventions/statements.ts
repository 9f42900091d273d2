import { readFileSync } from 'node:fs'
import ts from 'typescript'

export interface Statement {
  file: string
  line: number
  /** From its first comment; undefined where it has none. */
  name: string | undefined
}

const BEGINS = /^\s*(select|insert|update|delete|with|lock|create|copy|truncate|merge|listen|notify)\b/i
const NAME = /^\s*\/\* ([a-z][a-z_]*(?:\.[a-z_]+)+) \*\//

/**
 * The SQL statements that a source file sends: templates tagged with a connection, and texts handed to `unsafe`, that
 * begin as a statement does or with a name. What a function returns as a `Fragment` is a part of its caller's statement.
 */
export function statementsOf(file: string, text = readFileSync(file, 'utf8')): Statement[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.ES2023, true)
  const found: Statement[] = []
  const look = (node: ts.Node): void => {
    const sql = sqlIn(node)
    if (sql !== undefined) {
      const name = NAME.exec(sql)?.[1]
      if (name !== undefined || (BEGINS.test(sql) && !isFragment(node))) {
        found.push({ file, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, name })
      }
    }
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}

/** The text of the statement up to its first parameter. */
function sqlIn(node: ts.Node): string | undefined {
  if (ts.isTaggedTemplateExpression(node) && /(^|\.|\b)(sql|tx|db|admin)$/i.test(node.tag.getText())) {
    return headOf(node.template)
  }
  if (!ts.isCallExpression(node) || !/\.unsafe$/.test(node.expression.getText())) return undefined
  const [first] = node.arguments
  return first !== undefined && ts.isStringLiteralLike(first)
    ? first.text
    : first !== undefined && ts.isTemplateExpression(first)
      ? first.head.text
      : undefined
}

const headOf = (template: ts.TemplateLiteral): string =>
  ts.isNoSubstitutionTemplateLiteral(template) ? template.text : template.head.text

/** Whether it is inside a function that returns a Fragment, is stored as one, or is part of another template. */
function isFragment(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node.parent; at !== undefined; at = at.parent) {
    if (ts.isTemplateSpan(at)) return true
    if (ts.isFunctionLike(at)) {
      if (at.type !== undefined) return /\bFragment\b/.test(at.type.getText())
      const holder = at.parent
      return ts.isVariableDeclaration(holder) && /\bFragment\b/.test(holder.type?.getText() ?? '')
    }
    if (ts.isVariableDeclaration(at) && /\bFragment\b/.test(at.type?.getText() ?? '')) return true
    if (ts.isAwaitExpression(at)) return false
  }
  return false
}
