import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface CuttingProxy {
  address: string
  /** Connections that were cut so far, and those that went to another server than the one before. */
  counts: { cuts: number; switches: number }
  /** From now on connections are left alone. */
  spare(): void
  close(): Promise<void>
}

/**
 * A TCP proxy that leads each connection to one of the servers by chance and cuts it by chance: after so many bytes,
 * which may be in the middle of a message, or after so many milliseconds.
 */
export async function startCuttingProxy(
  addresses: readonly string[],
  draw: () => number,
  most: { bytes: number; ms: number },
): Promise<CuttingProxy> {
  const counts = { cuts: 0, switches: 0 }
  const sockets = new Set<Socket>()
  let cutting = true
  let lastUpstream: string | undefined

  const server = createServer((client) => {
    const { hostname, port, host } = new URL(addresses[Math.floor(draw() * addresses.length)] as string)
    if (lastUpstream !== undefined && lastUpstream !== host) counts.switches++
    lastUpstream = host
    const upstream = connect(Number(port), hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    let left = Math.floor(draw() * most.bytes)
    const cut = (): void => {
      if (!cutting || client.destroyed) return
      counts.cuts++
      client.destroy()
      upstream.destroy()
    }
    const timer = setTimeout(cut, draw() * most.ms)
    client.on('close', () => clearTimeout(timer))
    upstream.on('data', (chunk: Buffer) => {
      if (!cutting || chunk.length <= left) {
        left -= chunk.length
        if (!client.write(chunk)) {
          upstream.pause()
          client.once('drain', () => upstream.resume())
        }
        return
      }
      // The bytes up to the cut are sent completely, then nothing more.
      const last = chunk.subarray(0, Math.max(0, left))
      left = 0
      client.write(last, cut)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    counts,
    spare() {
      cutting = false
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
