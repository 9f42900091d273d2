import ts from 'typescript'
import { read, sources } from './sources.ts'

const LONG = 60
/** How many functions of the page may be longer. Lower it after a change that leaves fewer. */
const MOST = 62

export function longFunctions(): string[] {
  const long = sources.filter((path) => /^web\/src\/.*\.tsx?$/.test(path)).flatMap(longIn)
  if (long.length <= MOST) return []
  return [`there are ${long.length}, and may be ${MOST}; divide one of these:`, ...long]
}

function longIn(path: string): string[] {
  const kind = path.endsWith('x') ? ts.ScriptKind.TSX : ts.ScriptKind.TS
  const source = ts.createSourceFile(path, read(path), ts.ScriptTarget.ES2023, true, kind)
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line
  const found: string[] = []
  const look = (node: ts.Node): void => {
    if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
      const first = lineAt(node.getStart(source))
      const lines = lineAt(node.end) - first + 1
      if (lines > LONG) found.push(`${path}:${first + 1}: ${lines} lines`)
    }
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}
