import { Problem } from '../../problem.ts'

/** The channels that can be followed (contract §6). The kind is also what a message's `event:` says. */
export type ChannelKind =
  | 'project'
  | 'batch'
  | 'metrics'
  | 'logs'
  | 'resources'
  | 'host'
  | 'hosts'
  | 'notices'
  | 'dashboard'
  | 'share'

export interface Channel {
  /** As it was asked for. */
  name: string
  kind: ChannelKind
  /** The part after the colon: a slug, a batch's id, an agent's id, a share's token; empty without a colon. */
  of: string
}

const NAMED = new Set(['project', 'batch', 'metrics', 'logs', 'resources', 'host', 'share'])
const BARE = new Set(['hosts', 'notices', 'dashboard'])
export const MAX_CHANNELS = 100

/**
 * Reads the names of channels; one that is named twice counts once.
 * @throws Problem invalid_query for none, more than 100, or a name that no channel can have
 */
export function readChannels(names: readonly string[]): Channel[] {
  const channels = [...new Set(names)].map(readChannel)
  if (channels.length === 0) throw refused('name at least one channel')
  if (channels.length > MAX_CHANNELS) throw refused(`at most ${MAX_CHANNELS} channels in one stream`)
  return channels
}

function readChannel(name: string): Channel {
  if (BARE.has(name)) return { name, kind: name as ChannelKind, of: '' }
  const colon = name.indexOf(':')
  const kind = name.slice(0, Math.max(0, colon))
  const of = name.slice(colon + 1)
  // 128 characters (contract §1), each of which may be two units of a JavaScript string.
  if (!NAMED.has(kind) || of === '' || of.length > 256 || /[\p{Cc}\p{Cs}]/u.test(of)) {
    throw refused(
      `"${name.toWellFormed().slice(0, 300)}" is no channel: project:{slug}, batch:{id}, metrics:{batch_id}, logs:{batch_id}, resources:{batch_id}, host:{agent_id}, hosts, notices, dashboard or share:{token}`,
    )
  }
  return { name, kind: kind as ChannelKind, of }
}

const refused = (message: string): Problem =>
  new Problem('invalid_query', {
    detail: `channels: ${message}`,
    errors: [{ path: 'channels', message }],
  })
