import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import type { Sql } from '../../src/db/sql.ts'

/** A mail as the server received it: its envelope, its bytes, and what they parse to. */
export interface Received {
  from: string
  to: string[]
  bytes: Buffer
  mail: Email
}

export interface Mailbox {
  url: string
  /** What rules sent. */
  received: Received[]
  /** Mails about accounts: links that confirm an address, invitations. */
  aboutAccounts: Received[]
  /** Mails to an address, oldest first. */
  to(address: string): Received[]
  /** Decides how the next messages are answered; called when a message was received completely. */
  beforeAnswer: (mail: Received) => Promise<void> | void
  /** Refuses a recipient, by throwing. */
  onRecipient: (address: string) => Promise<void> | void
  /** Breaks off every connection, without a word. */
  cutOff(): void
  stop(): Promise<void>
}

/** An answer of the server that is no 250. */
export class Refusal extends Error {
  readonly responseCode: number
  constructor(responseCode: number) {
    super('not now')
    this.responseCode = responseCode
  }
}

/**
 * A real SMTP server on a free port, or on one that it had before.
 * @param options.password it takes mail of the user `monitor` alone, who proves to be that by it
 */
export async function openMailbox(options: { port?: number; password?: string } = {}): Promise<Mailbox> {
  const { port = 0, password } = options
  const received: Received[] = []
  const box: Mailbox = {
    url: '',
    received,
    aboutAccounts: [],
    to: (address) => received.filter((one) => one.to.includes(address)),
    beforeAnswer: () => {},
    onRecipient: () => {},
    cutOff() {
      for (const connection of server.connections) connection._socket.destroy()
    },
    stop: () => new Promise((resolve) => server.close(resolve)),
  }
  const server = new SMTPServer({
    authOptional: password === undefined,
    allowInsecureAuth: true,
    onAuth(given, _session, done) {
      if (given.username === 'monitor' && given.password === password) done(null, { user: 'monitor' })
      else done(new Error('who is that?'))
    },
    disabledCommands: ['STARTTLS'],
    closeTimeout: 100,
    onRcptTo(address, _session, done) {
      void (async () => {
        await box.onRecipient(address.address)
        done()
      })().catch(done)
    },
    onData(stream, session, done) {
      void (async () => {
        const chunks: Buffer[] = []
        for await (const chunk of stream) chunks.push(chunk as Buffer)
        const bytes = Buffer.concat(chunks)
        const { mailFrom, rcptTo } = session.envelope
        const one: Received = {
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          bytes,
          mail: await PostalMime.parse(bytes),
        }
        const aboutAccount = one.mail.messageId?.startsWith('<svc.account.') === true
        if (!aboutAccount) await box.beforeAnswer(one)
        if (aboutAccount) box.aboutAccounts.push(one)
        else received.push(one)
        done()
      })().catch(done)
    },
  })
  // A client that is killed is no fault of the server's.
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  box.url = `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`
  return box
}

/** Every address of the tests may be mailed, and often. */
export const ANY_MAIL = { allowedDomains: ['example.org'], perProject: 1e6, perRecipient: 1e6 }

/** Waits until no mail waits in the queue, is being sent, or is to be tried again. */
export async function mailSent(sql: Sql, patienceMs = 60_000): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int n from graphile_worker.jobs where task_identifier in ('mail', 'account_mail')`
    if (row?.n === 0) return
    if (performance.now() - begun > patienceMs) throw new Error('mail still waits')
    await sleep(20)
  }
}

/** The words after `[project] `, one for each mail, oldest first. */
export const subjects = (mails: readonly Received[]): string[] => mails.map((one) => one.mail.subject ?? '')
