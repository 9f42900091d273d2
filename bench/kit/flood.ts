import { connect, type Socket } from 'node:net'
import { take, trainingEvents } from './events.ts'
import { eachAnswer } from './load.ts'

const SENDERS = 200
/** Jobs of one sender's batch. */
const JOBS = 8
/** How long a sender's batch goes on, however much of it is sent; then comes the next one. */
const BATCH_MS = 12_500

/**
 * Bodies of so many events each, without end, of senders by turns: each has a training of its own, of which every body
 * brings the next epochs. They begin their batches one after another.
 * @param events a multiple of the jobs of a batch
 */
export function createBodies(events: number): () => Buffer {
  // Three words of eight letters are put in at each use: what makes the event new, the batch, and the epoch. Their
  // places are looked up once: the senders share the machine with what is measured.
  const senders = Array.from({ length: SENDERS }, (_, i) => {
    const own = take(trainingEvents({ batches: 1, jobs: JOBS, tag: `CCCCCCCC-${i}` }), events).map((event) =>
      event
        .replace(/"event_id":"[0-9a-f]{8}/, '"event_id":"EEEEEEEE')
        .replace(/"epoch":(\d+)/, (_, epoch) => `"epoch":${10_000_000 + Number(epoch)}`),
    )
    const bytes = Buffer.from(`[${own.join(',')}]`)
    const epochs = placesOf(bytes, '"epoch":').map((at) => at + '"epoch":'.length)
    return {
      bytes,
      event: placesOf(bytes, 'EEEEEEEE'),
      batch: placesOf(bytes, 'CCCCCCCC'),
      epochs: epochs.map((at) => ({ at, first: Number(bytes.toString('latin1', at, at + 8)) })),
      beginsMs: (i / SENDERS) * BATCH_MS,
    }
  })
  const start = Math.floor(Math.random() * 2 ** 31)
  const hex = (n: number): Buffer => Buffer.from((n >>> 0).toString(16).padStart(8, '0'))
  let used = 0
  return () => {
    const { bytes, event, batch, epochs, beginsMs } = senders[used % SENDERS] as (typeof senders)[number]
    const batchWord = hex(start + Math.floor((performance.now() + beginsMs) / BATCH_MS))
    const further = Math.floor(used / SENDERS) * (events / JOBS)
    used++
    const eventWord = hex(start + used)
    const body = Buffer.from(bytes)
    for (const at of event) body.set(eventWord, at)
    for (const at of batch) body.set(batchWord, at)
    for (const { at, first } of epochs) body.write(String(first + further), at, 'latin1')
    return body
  }
}

function placesOf(bytes: Buffer, word: string): number[] {
  const places: number[] = []
  for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + 1)) places.push(at)
  return places
}

export interface Answered {
  status: number
  /** Milliseconds since the flood began: when it was to be sent, and when it was answered. */
  dueMs: number
  answeredMs: number
  retryAfter: boolean
}

/**
 * Sends bodies for some seconds: as fast as `connections` get their answers, or, with `perS`, at that rate without
 * waiting for answers, as many independent senders do.
 */
export async function flood(
  { address, token }: { address: string; token: string },
  body: () => Buffer,
  options: { seconds: number; connections: number; perS?: number },
): Promise<Answered[]> {
  const { seconds, connections, perS } = options
  const senders = openSenders(address, token, connections)
  const answers: Answered[] = []
  const begun = performance.now()
  const since = (): number => performance.now() - begun
  const send = async (dueMs: number): Promise<void> => {
    const { status, retryAfter } = await senders.post(body())
    answers.push({ status, dueMs, answeredMs: since(), retryAfter })
  }
  if (perS === undefined) {
    const run = async (): Promise<void> => {
      while (since() < seconds * 1000) await send(since())
    }
    await Promise.all(Array.from({ length: connections }, run))
  } else {
    const all: Promise<void>[] = []
    for (let n = 0; n < perS * seconds; n++) {
      const dueMs = (n / perS) * 1000
      const wait = dueMs - since()
      if (wait > 1 || n % 50 === 0) await new Promise((resolve) => setTimeout(resolve, Math.max(0, wait)))
      all.push(send(dueMs))
    }
    await Promise.all(all)
  }
  senders.close()
  return answers
}

type Answer = Pick<Answered, 'status' | 'retryAfter'>

interface Senders {
  /** Over a connection that is free, a new one, or the first that becomes free. Status 0 when it breaks. */
  post(body: Buffer): Promise<Answer>
  close(): void
}

/** Bare keep-alive connections: an HTTP client would take a quarter of the machine away from what is measured. */
function openSenders(address: string, token: string, most: number): Senders {
  const { hostname, port, host } = new URL(address)
  const head = `POST /api/events/batch HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: `
  const open = new Set<Socket>()
  const free: Socket[] = []
  const waiting: { body: Buffer; done: (answer: Answer) => void }[] = []
  const pending = new Map<Socket, (answer: Answer) => void>()

  function write(socket: Socket, body: Buffer, done: (answer: Answer) => void): void {
    pending.set(socket, done)
    socket.cork()
    socket.write(`${head}${body.length}\r\n\r\n`)
    socket.write(body)
    socket.uncork()
  }
  function release(socket: Socket): void {
    const next = waiting.shift()
    if (next !== undefined) write(socket, next.body, next.done)
    else free.push(socket)
  }
  function add(): Socket {
    const socket = connect(Number(port), hostname)
    socket.setNoDelay(true)
    open.add(socket)
    eachAnswer(socket, (said) => {
      const done = pending.get(socket)
      pending.delete(socket)
      done?.({ status: Number(said.slice(9, 12)), retryAfter: /^retry-after:/im.test(said) })
      if (/^connection: close/im.test(said)) socket.destroy()
      else release(socket)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      open.delete(socket)
      const at = free.indexOf(socket)
      if (at >= 0) free.splice(at, 1)
      pending.get(socket)?.({ status: 0, retryAfter: false })
      pending.delete(socket)
      const next = waiting.shift()
      if (next !== undefined) write(add(), next.body, next.done)
    })
    return socket
  }
  return {
    post: (body) =>
      new Promise((done) => {
        const socket = free.pop() ?? (open.size < most ? add() : undefined)
        if (socket === undefined) waiting.push({ body, done })
        else write(socket, body, done)
      }),
    close: () => {
      for (const socket of open) socket.destroy()
    },
  }
}
