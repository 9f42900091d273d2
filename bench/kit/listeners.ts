import { connect, type Socket } from 'node:net'

export interface Listeners {
  /** Frames that came so far, over all streams. */
  frames(): number
  /** When each stream got the frame with this mark, in `performance.now()` terms. */
  arrivals: Map<number, number[]>
  close(): void
}

const FRAME = Buffer.from('\ndata: ')
const MARK = Buffer.from('"line":"mark ')

/**
 * Opens `count` streams with as little work a frame as can be: frames are counted, marks noted with their time.
 * @param path of every stream, or of the one with this number
 */
export async function openListeners(
  address: string,
  path: string | ((n: number) => string),
  count: number,
): Promise<Listeners> {
  const { hostname, port, host } = new URL(address)
  const arrivals = new Map<number, number[]>()
  const sockets: Socket[] = []
  let frames = 0

  function look(chunk: Buffer): void {
    const now = performance.now()
    for (let at = chunk.indexOf(FRAME); at >= 0; at = chunk.indexOf(FRAME, at + 1)) frames++
    for (let at = chunk.indexOf(MARK); at >= 0; at = chunk.indexOf(MARK, at + 1)) {
      const mark = Number.parseInt(chunk.toString('latin1', at + MARK.length, at + MARK.length + 8), 10)
      const times = arrivals.get(mark)
      if (times === undefined) arrivals.set(mark, [now])
      else times.push(now)
    }
  }
  const pathOf = typeof path === 'string' ? () => path : path
  const open = (n: number): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      sockets.push(socket)
      socket.once('error', reject)
      socket.once('data', (head) => {
        if (!head.toString('latin1').startsWith('HTTP/1.1 200')) {
          reject(new Error(head.toString()))
          return
        }
        socket.on('data', look)
        resolve()
      })
      socket.write(`GET ${pathOf(n)} HTTP/1.1\r\nhost: ${host}\r\n\r\n`)
    })
  for (let i = 0; i < count; i += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - i) }, (_, n) => open(i + n)))
  return {
    frames: () => frames,
    arrivals,
    close() {
      for (const socket of sockets) socket.destroy()
    },
  }
}
