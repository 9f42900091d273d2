import { readFileSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../thrown.ts'
import type { DatabaseAddress, Host } from './address.ts'

/** Fields of a line of a password file: separated by colons, with `\:` and `\\` for these characters themselves. */
const fieldsOf = (line: string): string[] =>
  (line.match(/(?:^|:)(?:\\.|[^:\\])*/g) ?? []).map((field, i) =>
    (i === 0 ? field : field.slice(1)).replace(/\\(.)/g, '$1'),
  )

/** The first password in the file for this host, database and user. */
export function passwordIn(
  text: string,
  address: DatabaseAddress,
  { name, address: ip, port }: Host,
): string | undefined {
  const local = name === '' || name.startsWith('/') || name.startsWith('@')
  const hosts = local ? ['localhost', name] : [name || ip]
  for (const line of text.split(/\r?\n/)) {
    if (line === '' || line.startsWith('#')) continue
    const [host, itsPort, database, user, ...password] = fieldsOf(line)
    const matches =
      (host === '*' || hosts.includes(host)) &&
      (itsPort === '*' || itsPort === String(port)) &&
      (database === '*' || database === address.database) &&
      (user === '*' || user === address.user)
    if (matches && password.length > 0) return password[0]
  }
  return undefined
}

/**
 * The password for a host, from the address or the password file. Called when the server asks for one.
 * @throws Error with one line for the operator if there is none
 */
export function passwordFor(address: DatabaseAddress, host: Host): string {
  if (address.password !== undefined) return address.password
  const path = address.passfile ?? join(homedir(), '.pgpass')
  const missing = (why: string): Error =>
    Object.assign(new Error(`it asks ${address.user} for a password, and ${why}`), { code: '28P01' })
  try {
    if (process.platform !== 'win32' && (statSync(path).mode & 0o077) !== 0)
      throw missing(`${path} can be read by others: chmod 600 ${path}`)
    const password = passwordIn(readFileSync(path, 'utf8'), address, host)
    if (password !== undefined) return password
  } catch (error) {
    const code = codeOf(error)
    if (code === '28P01') throw error
    if (code !== 'ENOENT' || address.passfile !== undefined) throw missing(`${path} cannot be read (${code})`)
    throw missing('neither the URL, PGPASSWORD nor ~/.pgpass has one')
  }
  throw missing(`${path} has none for this host, database and user`)
}
