import { connect, type Socket } from 'node:net'

export interface Load {
  seconds: number
  /** Milliseconds from the first byte sent to the answer, one per request. */
  latenciesMs: number[]
  failures: number
}

/**
 * Sends every body once over `connections` keep-alive connections, each waiting for its answer before the next: a
 * bare client, so that the machine's time goes to what is measured.
 */
export async function postAll(
  address: string,
  path: string,
  bodies: readonly (string | Buffer)[],
  options: { connections: number; token: string; contentType?: string },
): Promise<Load> {
  const { hostname, port, host } = new URL(address)
  const type = options.contentType ?? 'application/json'
  const latenciesMs: number[] = []
  let next = 0
  let failures = 0
  const run = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      let sentAt = 0
      const send = (): void => {
        const body = bodies[next++]
        if (body === undefined) {
          socket.end()
          resolve()
          return
        }
        sentAt = performance.now()
        socket.cork()
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${options.token}\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n`,
        )
        socket.write(body)
        socket.uncork()
      }
      socket.on('connect', send)
      eachAnswer(socket, (head) => {
        latenciesMs.push(performance.now() - sentAt)
        if (!head.startsWith('HTTP/1.1 200')) failures++
        send()
      })
      socket.on('error', reject)
    })
  const from = performance.now()
  await Promise.all(Array.from({ length: options.connections }, run))
  return { seconds: (performance.now() - from) / 1000, latenciesMs, failures }
}

/** The head of each answer, once its body has come as well; one request at a time is under way. */
export function eachAnswer(socket: Socket, each: (head: string) => void): void {
  let answer = Buffer.alloc(0)
  socket.on('data', (chunk) => {
    answer = answer.length === 0 ? chunk : Buffer.concat([answer, chunk])
    const end = answer.indexOf('\r\n\r\n')
    if (end < 0) return
    const head = answer.toString('latin1', 0, end)
    const length = Number(/content-length: (\d+)/i.exec(head)?.[1] ?? 0)
    if (answer.length < end + 4 + length) return
    answer = Buffer.alloc(0)
    each(head)
  })
}

export const percentile = (values: readonly number[], p: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor((p / 100) * sorted.length))] ?? Number.NaN
}
