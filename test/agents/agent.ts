import type { TestApp } from '../kit/app.ts'
import type { Answer } from '../kit/http.ts'

/** An agent as the service knows it: the requests of the daemon, sent by the test. */
export interface TestAgent {
  id: string
  token: string
  hostname: string
  /** The pending commands. */
  jobs(): Promise<Answer>
  /** POST to `/api/agents/{id}/{path}`. */
  say(path: string, body?: unknown): Promise<Answer>
  /** Takes the command over, says that it runs as this pid; returns the token for its reporter. */
  start(cmdId: string, pid: number): Promise<string>
}

export async function registerAgent(
  app: TestApp,
  credential: string,
  hostname = 'gpu-1',
): Promise<TestAgent> {
  const body = { hostname, capabilities: { gpus: 1 }, version: '0.1.0' }
  const { status, body: made } = await app.call('POST', '/api/agents/register', { token: credential, body })
  if (status !== 200) throw new Error(`register: ${status} ${JSON.stringify(made)}`)
  const { agent_id: id, agent_token: token } = made
  const say: TestAgent['say'] = (path, content) =>
    app.call('POST', `/api/agents/${id}/${path}`, { token, body: content })
  return {
    id,
    token,
    hostname,
    jobs: () => app.call('GET', `/api/agents/${id}/jobs`, { token }),
    say,
    async start(cmdId, pid) {
      const claimed = await say(`jobs/${cmdId}/claim`)
      const acked = await say(`jobs/${cmdId}/ack`, { pid })
      if (claimed.status !== 200 || acked.status !== 200) {
        throw new Error(`${claimed.status} ${acked.status} ${JSON.stringify([claimed.body, acked.body])}`)
      }
      return claimed.body.token
    },
  }
}
