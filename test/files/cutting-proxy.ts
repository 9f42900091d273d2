import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A PATCH of an upload that came by: from which offset on, and how many bytes of it. */
export interface SeenPatch {
  offset: number
  bytes: number
}

/** A proxy of TCP that counts the bytes of uploads and breaks connections. */
export interface CuttingProxy {
  address: string
  patches: SeenPatch[]
  cuts: number
  close(): void
}

/**
 * @param at for each cut, after how many bytes of uploads in all; ascending
 * @param cut is called after each
 */
export async function cuttingProxy(
  target: string,
  at: readonly number[],
  cut: (count: number) => void = () => {},
): Promise<CuttingProxy> {
  const { hostname, port } = new URL(target)
  const open = new Set<Socket>()
  const proxy: CuttingProxy = { address: '', patches: [], cuts: 0, close }
  let seen = 0
  const server = createServer((client) => {
    const away = connect(Number(port), hostname)
    for (const socket of [client, away]) {
      open.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        open.delete(socket)
        client.destroy()
        away.destroySoon()
      })
    }
    const count = uploadBytes(proxy.patches)
    client.on('data', (chunk) => {
      seen += count(chunk)
      if (seen < (at[proxy.cuts] ?? Number.POSITIVE_INFINITY)) return
      proxy.cuts++
      // What arrived before is passed on.
      client.destroy()
      cut(proxy.cuts)
    })
    client.pipe(away, { end: true })
    away.pipe(client)
  })
  function close(): void {
    server.close()
    for (const socket of open) socket.destroy()
  }
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return proxy
}

/** Follows the requests of one connection. @returns how many bytes of a chunk are content of uploads */
function uploadBytes(patches: SeenPatch[]): (chunk: Buffer) => number {
  let head = Buffer.alloc(0)
  let left = 0
  let patch: SeenPatch | undefined
  return (chunk) => {
    let found = 0
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const bytes = Math.min(left, chunk.length - at)
        at += bytes
        left -= bytes
        if (patch === undefined) continue
        patch.bytes += bytes
        found += bytes
        continue
      }
      const before = head.length
      head = Buffer.concat([head, chunk.subarray(at)])
      const end = head.indexOf('\r\n\r\n')
      if (end === -1) return found
      at += end + 4 - before
      const text = head.toString('latin1', 0, end)
      head = Buffer.alloc(0)
      left = Number(/^content-length: *(\d+)/im.exec(text)?.[1] ?? 0)
      const offset = /^upload-offset: *(\d+)/im.exec(text)?.[1]
      patch = undefined
      if (!text.startsWith('PATCH ') || offset === undefined) continue
      patch = { offset: Number(offset), bytes: 0 }
      patches.push(patch)
    }
    return found
  }
}

/** For each PATCH how many of its bytes had been sent before. */
export function sentAgain(patches: readonly SeenPatch[]): number[] {
  let most = 0
  return patches.map(({ offset, bytes }) => {
    const again = Math.max(0, Math.min(most, offset + bytes) - offset)
    most = Math.max(most, offset + bytes)
    return again
  })
}

/** Places for `cuts` cuts of a file of that size, by a random source from 0 to 1. */
export const randomCuts = (cuts: number, size: number, draw: () => number): number[] =>
  Array.from({ length: cuts }, () => Math.floor(draw() * size)).sort((a, b) => a - b)
