import { type Finding, ok, warning } from './finding.ts'

/** What the service takes with a million points exported, and with the embedded PostgreSQL (docs/install.md "Memory"). */
const NEEDED_MIB = { service: 300, both: 700 }

/** @param bytes of memory that this process may use: the limit of its container or unit, else that of the machine */
export function memoryFinding(bytes: number, embedded: boolean): Finding {
  const needed = embedded ? NEEDED_MIB.both : NEEDED_MIB.service
  const mib = Math.floor(bytes / 2 ** 20)
  if (mib >= needed) return ok('memory', `${mib} MiB may be used`)
  return warning(
    'memory',
    `${mib} MiB may be used, and the service${embedded ? ' with its PostgreSQL' : ''} needs ${needed}`,
    'Raise the memory limit of the container or unit, or use an external PostgreSQL. With too little it is killed under load.',
  )
}
