import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { codeOf } from '../../src/thrown.ts'

/** Below the ports of outgoing connections and of listen(0): a system gives none of these to another program meanwhile. */
const [LEAST, BELOW] = [12_000, 32_000]

/** A TCP port of this machine that nothing listens on. It stays free until its user has started, and while it restarts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(LEAST, BELOW)
    const server = createServer().listen(port, '127.0.0.1')
    try {
      await once(server, 'listening')
    } catch (error) {
      if (codeOf(error) === 'EADDRINUSE') continue
      throw error
    }
    server.close()
    await once(server, 'close')
    return port
  }
}
