/** Fields that are left out, or shown in another way than `name=value`. */
const LEFT_OUT = new Set(['level', 'time', 'pid', 'hostname', 'msg', 'err'])
const LEVELS: Record<number, string> = { 20: 'debug ', 40: 'warning ', 50: 'error ', 60: 'error ' }

/**
 * A log line as text for a terminal: the time of day, the level unless it is `info`, the message, the other fields, and
 * the stack of an error.
 * @param line a JSON line of pino
 */
export function textOf(line: string): string {
  const entry = parsed(line)
  if (entry === undefined) return line
  const fields = Object.entries(entry).flatMap(([name, value]) =>
    LEFT_OUT.has(name) ? [] : ` ${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`,
  )
  const stack = stackOf(entry.err)
  return `${printable(
    `${new Date(Number(entry.time)).toTimeString().slice(0, 8)} ${LEVELS[Number(entry.level)] ?? ''}${entry.msg ?? ''}${fields.join('')}`,
  )}\n${stack === undefined ? '' : `${stack.split('\n').map(printable).join('\n')}\n`}`
}

/** Undefined if a removed secret left no valid JSON. */
function parsed(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function stackOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined
  const { stack, message } = error as { stack?: unknown; message?: unknown }
  return typeof stack === 'string' ? stack : String(message)
}

/** Escapes control characters, as JSON does: a logged path or header must not control the terminal. */
const printable = (text: string): string =>
  text.replace(/\p{Cc}/gu, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
