import type { Db } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Following } from '../../stream/payloads.ts'
import { requireReader, visibleBatches, visibleProjectsFilter } from '../access.ts'
import { hostsFollowed } from '../agents/index.ts'
import { readBatches } from '../batches/index.ts'
import { ANONYMOUS, type Caller, isAdmin, isPerson } from '../caller.ts'
import { openShare } from '../shares/index.ts'
import { isStorable } from '../storable-text.ts'
import type { Channel } from './channel.ts'
import type { Grant } from './grants.ts'

/** What the domain knows about the follower of a channel: enough to decide what it may see. */
export interface Viewer {
  userId: string | null
  admin: boolean
  /** Through a share, which shows no comments. */
  share: boolean
  /** Through a share that hides who ran it and where. */
  anonymous: boolean
}

/** A stream that was permitted: which channels of the log, as whom, and what the permission rests on. */
export interface AuthorizedChannels {
  followings: Map<string, Following<Viewer>>
  grant: Grant
}

/**
 * May the caller follow all of these channels (contract §6)? What does not exist is refused like what is not visible.
 * If two channels lead to the same channel of the log, as a batch and a share of it do, messages name the first.
 * @throws Problem channel_forbidden naming the channel; forbidden for tokens that read nothing
 */
export async function authorizeChannels(
  db: Db,
  caller: Caller,
  channels: readonly Channel[],
  now: Date,
): Promise<AuthorizedChannels> {
  const ofKinds = (...kinds: Channel['kind'][]) => channels.filter((channel) => kinds.includes(channel.kind))
  const shareChannels = ofKinds('share')
  if (shareChannels.length < channels.length) requireReader(caller)
  const batchIds = ofKinds('batch', 'metrics', 'logs', 'resources').map((channel) => channel.of)
  const slugs = ofKinds('project').map((channel) => channel.of)
  const hostIds = ofKinds('host').map((channel) => channel.of)
  const [batches, projects, shares, hosts] = await Promise.all([
    batchIds.length === 0 ? [] : visibleBatches(db, caller, batchIds),
    slugs.length === 0 ? [] : visibleSlugs(db, caller, slugs),
    openShares(db, shareChannels, now),
    caller.kind === 'anonymous' ? new Set<string>() : hostsFollowed(db, caller, hostIds),
  ])
  const batchById = new Map(batches.map((batch) => [batch.id, batch]))
  const projectBySlug = new Map(projects.map((project) => [project.slug, project]))

  const user = caller.kind === 'known' ? caller.user : null
  const viewer: Viewer = { userId: user?.id ?? null, admin: isAdmin(caller), share: false, anonymous: false }
  const grant: Grant = {
    credential:
      caller.kind === 'known'
        ? {
            kind: caller.via === 'cookie' || caller.via === 'session' ? 'session' : 'token',
            id: caller.credentialId,
          }
        : null,
    user: user && { id: user.id, role: user.role },
    projects: [],
    batches: [],
    shares: [],
  }
  const followings = new Map<string, Following<Viewer>>()
  const follow = (source: string, { name, kind }: Channel, as: Viewer = viewer): void => {
    if (!followings.has(source)) followings.set(source, { channel: name, kind, viewer: as })
  }
  for (const channel of channels) {
    switch (channel.kind) {
      case 'project': {
        const project = projectBySlug.get(channel.of)
        if (project === undefined) throw forbidden(channel)
        grant.projects.push(project.key)
        follow(channel.name, channel)
        break
      }
      case 'batch':
      case 'metrics':
      case 'logs':
      case 'resources': {
        const batch = batchById.get(channel.of)
        if (batch === undefined) throw forbidden(channel)
        grant.batches.push(batch.key)
        grant.projects.push(batch.projectKey)
        follow(channel.name, channel)
        break
      }
      case 'share': {
        const share = shares.get(channel.of)
        if (share === undefined) throw forbidden(channel)
        grant.shares.push(share.id)
        const as: Viewer = { userId: null, admin: false, share: true, anonymous: share.anonymous }
        for (const kind of ['batch', 'metrics', 'resources']) follow(`${kind}:${share.batchId}`, channel, as)
        if (!share.anonymous) follow(`logs:${share.batchId}`, channel, as)
        break
      }
      case 'hosts':
        // Each user sees their own agents. Following without having any is allowed.
        if (caller.kind === 'anonymous') throw forbidden(channel)
        follow(channel.name, channel)
        break
      case 'notices':
        // Each person sees their own.
        if (!isPerson(caller)) throw forbidden(channel)
        follow(channel.name, channel)
        break
      case 'host':
        if (!hosts.has(channel.of)) throw forbidden(channel)
        follow(channel.name, channel)
        break
      case 'dashboard':
        follow(channel.name, channel)
        break
    }
  }
  return { followings, grant }
}

const forbidden = ({ name }: Channel): Problem =>
  new Problem('channel_forbidden', {
    detail: `The channel ${name} does not exist or may not be followed by this caller`,
    errors: [{ path: 'channels', message: `${name} may not be followed` }],
  })

const visibleSlugs = (db: Db, caller: Caller, slugs: string[]) =>
  db<{ key: number; slug: string }[]>`/* live.visible_slugs */
    select p.key, p.slug from projects p
    where p.slug = any (${slugs.filter(isStorable)}::text[]) and ${visibleProjectsFilter(db, caller)}`

/** By token, those that are open, with their batches' ids. */
async function openShares(db: Db, channels: readonly Channel[], now: Date) {
  const found = await Promise.all(
    channels.map(async ({ of: token }) => ({ token, share: await openShare(db, token, now) })),
  )
  const open = found.flatMap(({ token, share }) => (share === undefined ? [] : [{ token, ...share }]))
  const batches =
    open.length === 0
      ? []
      : await readBatches(
          db,
          ANONYMOUS,
          open.map((share) => share.batchKey),
        )
  const ids = new Map(batches.map((batch) => [batch.key, batch.id]))
  return new Map(
    open.flatMap(({ token, id, anonymous, batchKey }) => {
      const batchId = ids.get(batchKey)
      return batchId === undefined ? [] : [[token, { id, anonymous, batchId }] as const]
    }),
  )
}
