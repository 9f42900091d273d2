import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../problem.ts'
import { problemBody, sendProblem, toProblem } from './respond.ts'

/** Refuses a path that cannot be decoded or has a too long parameter. Fastify refuses it before any hook runs. */
export function refusePath(error: Error, request: FastifyRequest, reply: FastifyReply): void {
  sendProblem(reply.headers({ 'x-request-id': request.id, 'cache-control': 'no-store' }), toProblem(error))
}

/**
 * Answers invalid HTTP, or headers that are too long. There is no request object, so this writes the problem to the
 * socket (contract "General rules").
 */
export function refuseBytes(error: Error & { code?: string }, socket: Socket, id: string): void {
  if (error.code !== 'ECONNRESET' && socket.writable) {
    const tooSlow = error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
    const body = JSON.stringify(problemBody(new Problem('bad_request'), { id, url: '/' }))
    const head = [
      'HTTP/1.1 400 Bad Request',
      'content-type: application/problem+json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${id}`,
      'cache-control: no-store',
      'connection: close',
    ]
    // A connection that timed out without a request is normal: clients may retry on another.
    socket.write(
      tooSlow
        ? 'HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n'
        : `${head.join('\r\n')}\r\n\r\n${body}`,
    )
  }
  socket.destroy(error)
}
