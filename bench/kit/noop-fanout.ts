/** The named limit of the stream: a server that writes what it is sent to everyone who listens, and does nothing else. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

const listeners = new Set<ServerResponse>()
const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.write(': open\n\n')
    listeners.add(response)
    response.on('close', () => listeners.delete(response))
    return
  }
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const frame = Buffer.concat(chunks)
    for (const listener of listeners) listener.write(frame)
    response.writeHead(200, { 'content-length': 2 }).end('ok')
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
