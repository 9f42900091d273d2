import { existsSync } from 'node:fs'
import { Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { codeOf } from '../thrown.ts'
import { type DatabaseAddress, type Host, placeOf } from './address.ts'
import {
  channelBindingOf,
  refusesTls,
  requireChannelBinding,
  TLS_FAULT,
  tlsFault,
  tlsOptions,
} from './tls.ts'

/** A connection that is ready for PostgreSQL's start-up message. */
export interface Connected {
  /** What the client reads and writes. */
  stream: Socket | TLSSocket
  /** The socket below TLS, or the same. */
  socket: Socket
  /** Binds the sign-in to the TLS connection; undefined without TLS. */
  channelBinding: Buffer | undefined
}

/** Where libpq looks for the socket of a local server: its own default, and that of Debian. */
const SOCKET_FOLDERS = ['/var/run/postgresql', '/tmp']

const socketIn = (folder: string, port: number): string => `${folder}/.s.PGSQL.${port}`

/** The path of the Unix socket of a host, if it is reached through one. */
function socketPath({ name, address, port }: Host): string | undefined {
  if (address !== undefined) return undefined
  // An @ stands for the null byte of Linux's abstract sockets.
  if (name.startsWith('/')) return socketIn(name, port)
  if (name.startsWith('@')) return socketIn(`\0${name.slice(1)}`, port)
  return name === ''
    ? SOCKET_FOLDERS.map((folder) => socketIn(folder, port)).find((path) => existsSync(path))
    : undefined
}

/**
 * Connects to one host, with TLS as the address wants it.
 * @param timeoutMs how long to wait for the host in all
 * @param opened called with every socket once it is connected
 * @throws Error with the code of the system, ETIMEDOUT, or TLS_FAULT
 */
export async function connectTo(
  address: DatabaseAddress,
  host: Host,
  { timeoutMs, opened }: { timeoutMs: number; opened: (socket: Socket) => void },
): Promise<Connected> {
  const signal = AbortSignal.timeout(timeoutMs)
  const attempt = { address, host, signal, opened }
  const { mode } = address.tls
  const path = socketPath(host)
  if (path !== undefined || mode === 'disable') return plain(address, await open(attempt, path))
  try {
    return await secured(attempt)
  } catch (error) {
    if (mode !== 'prefer' || codeOf(error) !== TLS_FAULT) throw error
    return plain(address, await open(attempt, undefined))
  }
}

interface Attempt {
  address: DatabaseAddress
  host: Host
  signal: AbortSignal
  opened: (socket: Socket) => void
}

function plain({ tls }: DatabaseAddress, socket: Socket): Connected {
  if (tls.channelBinding === 'require') requireChannelBinding(socket, false)
  return { stream: socket, socket, channelBinding: undefined }
}

async function open({ address, host, signal, opened }: Attempt, path: string | undefined): Promise<Socket> {
  const socket = new Socket()
  // Also between two listeners an error must not end the process.
  socket.on('error', () => {})
  if (path === undefined)
    socket.connect({ host: host.address ?? (host.name || 'localhost'), port: host.port })
  else socket.connect({ path })
  await next(socket, 'connect', signal)
  if (address.keepAliveMs !== false) socket.setKeepAlive(true, address.keepAliveMs)
  opened(socket)
  return socket
}

const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])
const YES = 'S'.charCodeAt(0)
const NO = 'N'.charCodeAt(0)

async function secured(attempt: Attempt): Promise<Connected> {
  const { address, host, signal } = attempt
  const { tls } = address
  // First of all, so that a missing file is not taken for a fault of the server.
  const options = tlsOptions(tls, host)
  const socket = await open(attempt, undefined)
  if (!tls.direct) {
    socket.write(SSL_REQUEST)
    const [answer] = (await next(socket, 'data', signal)) as [Buffer]
    if (answer.length === 1 && answer[0] === NO && tls.mode === 'prefer') return plain(address, socket)
    if (answer.length !== 1 || answer[0] !== YES) {
      socket.destroy()
      throw answer[0] === NO
        ? refusesTls(tls)
        : Object.assign(new Error(`${placeOf(host)} does not answer as PostgreSQL does`), { code: '08P01' })
    }
  }
  try {
    const stream = connectTls({ ...options, socket })
    stream.on('error', () => {})
    await next(stream, 'secureConnect', signal)
    const channelBinding = tls.channelBinding === 'disable' ? undefined : channelBindingOf(stream)
    if (tls.channelBinding === 'require') requireChannelBinding(stream, channelBinding !== undefined)
    return { stream, socket, channelBinding }
  } catch (error) {
    socket.destroy()
    throw codeOf(error) === 'ETIMEDOUT' ? error : tlsFault(error, tls)
  }
}

/** The arguments of the next event. @throws the error of the socket, ECONNRESET if it closes, ETIMEDOUT */
function next(socket: Socket, event: string, signal: AbortSignal): Promise<unknown[]> {
  return new Promise((resolve, reject) => {
    const settle = (done: () => void): void => {
      socket.off(event, happened).off('error', failed).off('close', closed)
      signal.removeEventListener('abort', late)
      done()
    }
    const happened = (...args: unknown[]): void => settle(() => resolve(args))
    const failed = (error: Error): void => settle(() => reject(error))
    const closed = (): void =>
      failed(Object.assign(new Error('the connection was closed'), { code: 'ECONNRESET' }))
    const late = (): void => {
      failed(Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' }))
      socket.destroy()
    }
    socket.once(event, happened).once('error', failed).once('close', closed)
    if (signal.aborted) late()
    else signal.addEventListener('abort', late, { once: true })
  })
}
