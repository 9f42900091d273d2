/** The named limit of single-event ingest: a server that reads a body and answers, and does nothing else. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fastify from 'fastify'

const answer = { db_id: 1, deduplicated: false }

if (process.env.NOOP === 'fastify') {
  const app = fastify()
  app.post('/api/events', () => answer)
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
} else {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      JSON.parse(Buffer.concat(chunks).toString())
      const body = JSON.stringify(answer)
      response
        .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
        .end(body)
    })
  })
  server.listen(0, '127.0.0.1', () =>
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
  )
}
