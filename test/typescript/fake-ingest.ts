import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Event } from '../../typescript/reporter/src/__generated__/events.ts'

export interface FakeIngest {
  url: string
  /** In order of arrival, without repeats. */
  events: Event[]
  /** Numbers of events of the requests. */
  requests: number[]
  /** Answers the next requests instead; the last one goes on. */
  answers: (Answer | undefined)[]
  stopRequested: boolean
  close(): void
}
type Answer =
  | { status: number; body?: unknown; headers?: Record<string, string> }
  | { drop: true }
  | { item: (event: Event) => unknown }

/** A small ingest server by contract §1, for faults that a healthy service does not show. */
export async function fakeIngest(): Promise<FakeIngest> {
  const ids = new Set<string>()
  const take = (event: Event, item?: (event: Event) => unknown) => {
    const error = item?.(event)
    if (error) return { db_id: null, deduplicated: false, error }
    const deduplicated = ids.has(event.event_id)
    if (!deduplicated) fake.events.push(event)
    ids.add(event.event_id)
    return { db_id: ids.size, deduplicated }
  }
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const reply = (status: number, body: unknown, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    if (request.method === 'GET') return reply(200, { stop_requested: fake.stopRequested })
    const sent: Event[] = JSON.parse(text)
    const answer = fake.answers.length > 1 ? fake.answers.shift() : fake.answers[0]
    if (answer && 'drop' in answer) return response.destroy()
    fake.requests.push(sent.length)
    if (answer && 'status' in answer) return reply(answer.status, answer.body ?? {}, answer.headers)
    reply(200, { results: sent.map((event) => take(event, answer?.item)) })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const fake: FakeIngest = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    events: [],
    requests: [],
    answers: [],
    stopRequested: false,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
  return fake
}
