import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A TCP address in front of a server, which can be shut or silent: as if the server's machine were gone. */
export interface Gate {
  port: number
  /** Cuts open connections at once and refuses new ones. */
  shut(): Promise<void>
  open(): Promise<void>
  /** Forwards nothing and closes nothing, like a machine without power; connections are accepted and get no answer. */
  silence(): void
}

export async function startGate(node: string): Promise<Gate> {
  const { hostname, port } = new URL(node)
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let own = 0
  let silent = false
  async function open(): Promise<void> {
    server = createServer((client) => {
      const upstream = connect(Number(port), hostname)
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from)
        from.setNoDelay(true)
        from.on('error', () => {})
        from.on('close', () => {
          sockets.delete(from)
          if (!silent) to.destroy()
        })
        if (!silent) from.pipe(to)
      }
    })
    server.listen(own, '127.0.0.1')
    await once(server, 'listening')
    own = (server.address() as AddressInfo).port
  }
  await open()
  return {
    port: own,
    open,
    async shut() {
      server?.close()
      for (const socket of sockets) socket.destroy()
      if (server !== undefined) await once(server, 'close')
    },
    silence() {
      silent = true
      for (const socket of sockets) socket.unpipe().pause()
    },
  }
}
