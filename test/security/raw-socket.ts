import { connect, type Socket } from 'node:net'

/** A connection that sends given bytes, one by one if need be, and records the answer. */
export interface RawSocket {
  socket: Socket
  /** Everything that was answered so far. */
  said(): string
  /** Settles when the connection is over. */
  closed: Promise<void>
}

export async function openRaw(address: string, bytes: string): Promise<RawSocket> {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname)
  let said = ''
  socket.on('data', (chunk) => {
    said += chunk
  })
  socket.on('error', () => {})
  const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', reject)
  })
  socket.write(bytes)
  return { socket, said: () => said, closed }
}

/** The headers of a request whose body has this length, and the first byte of it. */
export const firstByteOf = (path: string, length: number, headers = ''): string =>
  `POST ${path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n${headers}\r\n{`
