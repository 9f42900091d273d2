import { type IgnoredValue, seriesThat } from '../domain/events/index.ts'
import { declaredSeries, seriesLimit } from '../domain/metrics/index.ts'
import {
  maySee,
  maySendEvents,
  projectNameFault,
  projectNameKey,
  projectNameTaken,
  projectQuota,
} from '../domain/projects/index.ts'
import { quotaExceeded } from '../domain/quotas.ts'
import { Problem } from '../problem.ts'
import { identityKey, identityOf } from './claim.ts'
import type { Item, Outcome } from './outcome.ts'
import type { GroupState } from './state.ts'

export interface Admission {
  /** The events to store, in order of arrival. */
  admitted: Item[]
  /** By position; undefined if the event is admitted, or repeats an admitted one. */
  outcomes: (Outcome | undefined)[]
  /** Position → the admitted item that it repeats. */
  repeats: Map<number, Item>
  /** Admitted item → its values that are not stored; without items that are stored in full. */
  ignored: Map<Item, IgnoredValue[]>
  /** Tokens of reruns whose first event is admitted: token → batch_id. */
  bound: Map<string, string>
}

export interface AdmissionRules {
  /** Whether an unknown project is created. */
  autocreate: boolean
  /** Projects that one user may own. */
  maxProjects: number
  /** Series that one job may have. */
  maxSeries: number
}

/** What the admitted events of a group will create, and the tokens they will bind. */
interface Pending {
  /** slug → owner */
  projects: Map<string, string>
  /** Names of new projects: `projectNameKey` → slug. */
  names: Map<string, string>
  /** New projects by owner. */
  owned: Map<string, number>
  /** batch_id → slug */
  batches: Map<string, string>
  /** token → batch_id */
  bound: Map<string, string>
}

/**
 * Decides for each event, before anything is written (specification §4.1 steps 5 and 6; contract §1, §2): is it a
 * repeat, are its data valid, may the sender write there, does it fit the stored batch?
 */
export function admit(items: readonly Item[], state: GroupState, options: AdmissionRules): Admission {
  const pending: Pending = {
    projects: new Map(),
    names: new Map(),
    owned: new Map(),
    batches: new Map(),
    bound: new Map(),
  }
  const admitted: Item[] = []
  const outcomes: (Outcome | undefined)[] = []
  const repeats = new Map<number, Item>()
  const ignored: Admission['ignored'] = new Map()
  const byIdentity = new Map<string, Item>()
  const leaveOut = limitSeries(state, options.maxSeries)

  for (const [position, item] of items.entries()) {
    const { checked, sender } = item
    const identity = identityKey(identityOf(checked))
    if (sender.tokenId !== null && !state.tokens.has(sender.tokenId)) {
      outcomes[position] = { problem: new Problem('unauthenticated') }
      continue
    }
    const stored = state.stored.get(identity)
    if (stored !== undefined) {
      outcomes[position] = { dbId: stored, deduplicated: true, ignored: ignoredOfRepeat(state, item) }
      continue
    }
    const earlier = byIdentity.get(identity)
    if (earlier !== undefined) {
      repeats.set(position, earlier)
      continue
    }
    const problem =
      checked.dataFault ??
      bindingFault(item, state, pending) ??
      projectFault(item, state, pending) ??
      batchFault(item, state, pending) ??
      newProjectFault(item, state, pending, options)
    if (problem !== undefined) {
      outcomes[position] = { problem }
      continue
    }
    note(item, state, pending)
    byIdentity.set(identity, item)
    const left = leaveOut(item)
    if (left !== undefined) ignored.set(item, left)
    admitted.push(item)
  }
  return { admitted, outcomes, repeats, ignored, bound: pending.bound }
}

/** Adds what an admitted event will create and bind. */
function note({ checked: { event }, sender }: Item, state: GroupState, pending: Pending): void {
  const { tokenId } = sender
  if (tokenId !== null && state.bindings.get(tokenId)?.batchId === null)
    pending.bound.set(tokenId, event.batch_id)
  const slug = event.source.project
  if (!state.projects.has(slug) && !pending.projects.has(slug)) {
    pending.projects.set(slug, sender.id)
    pending.names.set(projectNameKey(slug), slug)
    pending.owned.set(sender.id, (pending.owned.get(sender.id) ?? 0) + 1)
  }
  if (!state.batches.has(event.batch_id)) pending.batches.set(event.batch_id, slug)
}

/** The token of a rerun reports one batch: a new one, or the one that is run again. */
function bindingFault(
  { checked: { event }, sender }: Item,
  state: GroupState,
  pending: Pending,
): Problem | undefined {
  if (sender.commandId === null || sender.tokenId === null) return undefined
  const binding = state.bindings.get(sender.tokenId)
  const batchId = sender.batchId ?? pending.bound.get(sender.tokenId) ?? binding?.batchId ?? null
  const mayBegin =
    event.batch_id === binding?.originId ||
    (!state.batches.has(event.batch_id) && !pending.batches.has(event.batch_id))
  return (batchId === null ? binding !== undefined && mayBegin : event.batch_id === batchId)
    ? undefined
    : new Problem('token_bound_to_batch')
}

/** Whether the sender may send events to the project, stored or pending. */
function projectFault(
  { checked: { event }, sender }: Item,
  state: GroupState,
  pending: Pending,
): Problem | undefined {
  if (sender.tokenId === null) return undefined
  const slug = event.source.project
  const project = state.projects.get(slug)
  const owner = pending.projects.get(slug)
  const allowed =
    project !== undefined
      ? maySendEvents(project, sender)
      : owner === undefined || owner === sender.id || sender.role === 'admin'
  if (allowed) return undefined
  return new Problem('project_forbidden', {
    detail: `You may not send events to the project ${slug}: its owner can make you a member, or choose another name`,
  })
}

/** A batch belongs to one project. Only a sender who may see that project learns that it is another one. */
function batchFault(
  { checked: { event }, sender }: Item,
  state: GroupState,
  pending: Pending,
): Problem | undefined {
  const slug = event.source.project
  const mismatch = (visible: boolean): Problem =>
    visible
      ? new Problem('batch_project_mismatch')
      : new Problem('project_forbidden', {
          detail:
            'A batch of that id belongs to a project to which you may not send events: choose another id',
        })
  const batch = state.batches.get(event.batch_id)
  if (batch !== undefined) {
    const home = state.projectsByKey.get(batch.state.projectKey)
    if (home?.slug !== slug) return mismatch(home !== undefined && maySee(home, sender))
    return batch.purged ? new Problem('batch_purged') : undefined
  }
  const home = pending.batches.get(event.batch_id)
  if (home === undefined || home === slug) return undefined
  const project = state.projects.get(home)
  return mismatch(project === undefined ? pending.projects.get(home) === sender.id : maySee(project, sender))
}

/** Whether the sender's event may create the project, if it does not exist (contract §2, §10). */
function newProjectFault(
  { checked: { event }, sender }: Item,
  state: GroupState,
  pending: Pending,
  options: AdmissionRules,
): Problem | undefined {
  const slug = event.source.project
  if (state.projects.has(slug) || pending.projects.has(slug)) return undefined
  if (!options.autocreate) return new Problem('unknown_project')
  const fault = projectNameFault(slug, 'source.project')
  if (fault !== undefined) return fault
  const key = projectNameKey(slug)
  const other = state.projectsByName.get(key)
  if (other !== undefined) {
    return projectNameTaken(slug, maySendEvents(other, sender) ? other.slug : undefined)
  }
  const pendingName = pending.names.get(key)
  if (pendingName !== undefined) {
    const own = pending.projects.get(pendingName) === sender.id
    return projectNameTaken(slug, own ? pendingName : undefined)
  }
  const owned = (state.owned.get(sender.id) ?? 0) + (pending.owned.get(sender.id) ?? 0)
  return owned >= options.maxProjects ? quotaExceeded(projectQuota(options.maxProjects)) : undefined
}

const asSurplus = (key: string): IgnoredValue => ({ key, reason: 'too_many_series' })

/**
 * Keeps the number of series of each job within the limit, counting the series of the events before (contract §10: beyond
 * the limit only the value is left out, not the event). Main series have places beyond the limit.
 * @returns a function to call with every event in order; it returns the values that are left out
 */
function limitSeries(state: GroupState, maxSeries: number): (item: Item) => IgnoredValue[] | undefined {
  const dictionaries = new Map<string, Set<string>>()
  /** By job: `main_series` of a start that is not stored yet. */
  const started = new Map<string, unknown>()
  return ({ checked }) => {
    const { event, sentSeries } = checked
    if (event.event_type === 'job_start' && event.data.main_series !== undefined) {
      started.set(`${event.batch_id}\n${event.job_id}`, event.data.main_series)
    }
    if (sentSeries === undefined || event.event_type !== 'job_epoch') return checked.ignored
    checked.series = sentSeries
    const job = state.jobs.get(event.batch_id)?.get(event.job_id)
    const progress = job?.progress
    if (progress?.latest?.names === sentSeries.names) return checked.ignored
    const name = `${event.batch_id}\n${event.job_id}`
    let known = dictionaries.get(name)
    if (known === undefined) {
      known = new Set(progress?.names)
      dictionaries.set(name, known)
    }
    const surplus = new Set<string>()
    let isDeclared: ((key: string) => boolean) | undefined
    for (const key of sentSeries.names) {
      if (known.has(key)) continue
      if (known.size >= maxSeries)
        isDeclared ??= declaredSeries(started.get(name) ?? job?.start?.values['params/main_series'])
      if (isDeclared === undefined || known.size < seriesLimit(key, maxSeries, isDeclared)) known.add(key)
      else surplus.add(key)
    }
    if (surplus.size === 0) return checked.ignored
    checked.series = seriesThat(sentSeries, (key) => !surplus.has(key))
    return [...(checked.ignored ?? []), ...[...surplus].map(asSurplus)]
  }
}

/** The values that were left out when the event was stored: those without a series of its job. */
function ignoredOfRepeat(state: GroupState, { checked: { event, sentSeries, ignored: misnamed } }: Item) {
  if (sentSeries === undefined || event.event_type !== 'job_epoch') return misnamed
  const progress = state.jobs.get(event.batch_id)?.get(event.job_id)?.progress
  if (progress === undefined) return misnamed
  const surplus = sentSeries.names.filter((key) => !progress.numbers.has(key))
  return surplus.length === 0 ? misnamed : [...(misnamed ?? []), ...surplus.map(asSurplus)]
}
