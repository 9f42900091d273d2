import { type IgnoredValue, seriesThat } from '../domain/events/index.ts'
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
  /** The events to store, in the order they came. */
  admitted: Item[]
  /** By position; undefined where the event is admitted or repeats one that is. */
  outcomes: (Outcome | undefined)[]
  /** Position → the admitted item that it repeats. */
  repeats: Map<number, Item>
  /** Admitted item → the values that are left out of it; items of which all is kept are missing. */
  ignored: Map<Item, IgnoredValue[]>
  /** Tokens of reruns whose first event is among the admitted: token → batch_id. */
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

/**
 * Decides, event by event, before anything is written (specification §4.1 steps 5 and 6; contract §1, §2): is it a
 * repeat, is its data valid, may the sender write there, does it fit the stored batch?
 */
export function admit(items: readonly Item[], state: GroupState, options: AdmissionRules): Admission {
  const admitted: Item[] = []
  const outcomes: (Outcome | undefined)[] = []
  const repeats = new Map<number, Item>()
  const ignored: Admission['ignored'] = new Map()
  const byIdentity = new Map<string, Item>()
  /** Projects and batches that this group will create: slug → owner, batch_id → slug. */
  const newProjects = new Map<string, string>()
  /** What their names look like, and how many each owner gets. */
  const newNames = new Map<string, string>()
  const newOwned = new Map<string, number>()
  const newBatches = new Map<string, string>()
  const bound = new Map<string, string>()
  const leaveOut = limitSeries(state, options.maxSeries)

  for (const [position, item] of items.entries()) {
    const { checked, sender } = item
    const { event } = checked
    const identity = identityKey(identityOf(checked))
    if (!state.tokens.has(sender.tokenId)) {
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
    const problem = checked.dataFault ?? bindingFault(item) ?? placeFault(item)
    if (problem !== undefined) {
      outcomes[position] = { problem }
      continue
    }
    bind(item)
    const slug = event.source.project
    if (!state.projects.has(slug) && !newProjects.has(slug)) {
      newProjects.set(slug, sender.id)
      newNames.set(projectNameKey(slug), slug)
      newOwned.set(sender.id, (newOwned.get(sender.id) ?? 0) + 1)
    }
    if (!state.batches.has(event.batch_id)) newBatches.set(event.batch_id, slug)
    byIdentity.set(identity, item)
    const left = leaveOut(item)
    if (left !== undefined) ignored.set(item, left)
    admitted.push(item)
  }
  return { admitted, outcomes, repeats, ignored, bound }

  /** A token of a rerun reports one batch: a new one, or the one that is run again. */
  function bindingFault({ checked: { event }, sender }: Item): Problem | undefined {
    if (sender.commandId === null) return undefined
    const binding = state.bindings.get(sender.tokenId)
    const batchId = sender.batchId ?? bound.get(sender.tokenId) ?? binding?.batchId ?? null
    const mayBegin =
      event.batch_id === binding?.originId ||
      (!state.batches.has(event.batch_id) && !newBatches.has(event.batch_id))
    return (batchId === null ? binding !== undefined && mayBegin : event.batch_id === batchId)
      ? undefined
      : new Problem('token_bound_to_batch')
  }

  function bind({ checked: { event }, sender }: Item): void {
    if (state.bindings.get(sender.tokenId)?.batchId === null) bound.set(sender.tokenId, event.batch_id)
  }

  function placeFault({ checked: { event }, sender }: Item): Problem | undefined {
    const slug = event.source.project
    const project = state.projects.get(slug)
    const owner = newProjects.get(slug)
    if (
      project !== undefined
        ? !maySendEvents(project, sender)
        : owner !== undefined && owner !== sender.id && sender.role !== 'admin'
    ) {
      return new Problem('project_forbidden')
    }
    const batch = state.batches.get(event.batch_id)
    if (batch !== undefined) {
      const home = state.projectsByKey.get(batch.state.projectKey)
      if (home?.slug !== slug) {
        return new Problem(
          home !== undefined && maySee(home, sender) ? 'batch_project_mismatch' : 'project_forbidden',
        )
      }
      if (batch.purged) return new Problem('batch_purged')
    } else {
      const home = newBatches.get(event.batch_id)
      if (home !== undefined && home !== slug) {
        const project = state.projects.get(home)
        const seen = project === undefined ? newProjects.get(home) === sender.id : maySee(project, sender)
        return new Problem(seen ? 'batch_project_mismatch' : 'project_forbidden')
      }
    }
    return project === undefined && owner === undefined ? newProjectFault(slug, sender) : undefined
  }

  /** Whether the sender's event may create a project of that name (contract §2, §10). */
  function newProjectFault(slug: string, sender: Item['sender']): Problem | undefined {
    if (!options.autocreate) return new Problem('unknown_project')
    const fault = projectNameFault(slug, 'source.project')
    if (fault !== undefined) return fault
    const key = projectNameKey(slug)
    const other = state.projectsByName.get(key)
    if (other !== undefined) {
      return projectNameTaken(slug, maySendEvents(other, sender) ? other.slug : undefined)
    }
    const newOther = newNames.get(key)
    if (newOther !== undefined) {
      return projectNameTaken(slug, newProjects.get(newOther) === sender.id ? newOther : undefined)
    }
    const owned = (state.owned.get(sender.id) ?? 0) + (newOwned.get(sender.id) ?? 0)
    return owned >= options.maxProjects ? quotaExceeded(projectQuota(options.maxProjects)) : undefined
  }
}

const asSurplus = (key: string): IgnoredValue => ({ key, reason: 'too_many_series' })

/**
 * Keeps of each event what fits among the series of its job, as they will be once the events before it are stored
 * (contract §10: a name beyond the limit costs its value only).
 * @returns a function of the next event: it answers the values that are left out
 */
function limitSeries(state: GroupState, maxSeries: number): (item: Item) => IgnoredValue[] | undefined {
  const dictionaries = new Map<string, Set<string>>()
  return ({ checked }) => {
    const { event, sentSeries } = checked
    if (sentSeries === undefined || event.event_type !== 'job_epoch') return checked.ignored
    checked.series = sentSeries
    const progress = state.jobs.get(event.batch_id)?.get(event.job_id)?.progress
    if (progress?.latest?.names === sentSeries.names) return checked.ignored
    const name = `${event.batch_id}\n${event.job_id}`
    let known = dictionaries.get(name)
    if (known === undefined) {
      known = new Set(progress?.names)
      dictionaries.set(name, known)
    }
    const surplus = new Set<string>()
    for (const key of sentSeries.names) {
      if (known.has(key)) continue
      if (known.size < maxSeries) known.add(key)
      else surplus.add(key)
    }
    if (surplus.size === 0) return checked.ignored
    checked.series = seriesThat(sentSeries, (key) => !surplus.has(key))
    return [...(checked.ignored ?? []), ...[...surplus].map(asSurplus)]
  }
}

/** The values that were left out of a stored event. The others are in its job's series. */
function ignoredOfRepeat(state: GroupState, { checked: { event, sentSeries, ignored: misnamed } }: Item) {
  if (sentSeries === undefined || event.event_type !== 'job_epoch') return misnamed
  const progress = state.jobs.get(event.batch_id)?.get(event.job_id)?.progress
  if (progress === undefined) return misnamed
  const surplus = sentSeries.names.filter((key) => !progress.numbers.has(key))
  return surplus.length === 0 ? misnamed : [...(misnamed ?? []), ...surplus.map(asSurplus)]
}
