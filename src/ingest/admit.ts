import { MAX_SERIES } from '../domain/events/index.ts'
import { maySee, maySendEvents } from '../domain/projects/index.ts'
import { Problem } from '../problem.ts'
import type { Item, Outcome } from './outcome.ts'
import type { Standing } from './standing.ts'

export interface Admission {
  /** The events to store, in the order they came. */
  admitted: Item[]
  /** By position; undefined where the event is admitted or repeats one that is. */
  outcomes: (Outcome | undefined)[]
  /** Position → the admitted item that it repeats. */
  repeats: Map<number, Item>
}

/**
 * Decides, event by event, before anything is written (specification §4.1 steps 5 and 6; contract §1, §2): is it a
 * repeat, is its data valid, may the sender write there, does it fit what stands?
 */
export function admit(
  items: readonly Item[],
  standing: Standing,
  options: { autocreate: boolean },
): Admission {
  const admitted: Item[] = []
  const outcomes: (Outcome | undefined)[] = []
  const repeats = new Map<number, Item>()
  const byEventId = new Map<string, Item>()
  /** Projects and batches that this group will create: slug → owner, batch_id → slug. */
  const newProjects = new Map<string, string>()
  const newBatches = new Map<string, string>()
  const dictionaries = new Map<string, Set<string>>()

  for (const [position, item] of items.entries()) {
    const { checked, sender } = item
    const { event, eventId } = checked
    if (!standing.tokens.has(sender.tokenId)) {
      outcomes[position] = { problem: new Problem('unauthenticated') }
      continue
    }
    const stored = standing.stored.get(eventId)
    if (stored !== undefined) {
      outcomes[position] = { dbId: stored, deduplicated: true }
      continue
    }
    const earlier = byEventId.get(eventId)
    if (earlier !== undefined) {
      repeats.set(position, earlier)
      continue
    }
    const problem = checked.dataFault ?? placeFault(item) ?? seriesFault(item)
    if (problem !== undefined) {
      outcomes[position] = { problem }
      continue
    }
    const slug = event.source.project
    if (!standing.projects.has(slug) && !newProjects.has(slug)) newProjects.set(slug, sender.id)
    if (!standing.batches.has(event.batch_id)) newBatches.set(event.batch_id, slug)
    byEventId.set(eventId, item)
    admitted.push(item)
  }
  return { admitted, outcomes, repeats }

  function placeFault({ checked: { event }, sender }: Item): Problem | undefined {
    const slug = event.source.project
    const project = standing.projects.get(slug)
    const owner = newProjects.get(slug)
    if (
      project !== undefined
        ? !maySendEvents(project, sender)
        : owner !== undefined && owner !== sender.id && sender.role !== 'admin'
    ) {
      return new Problem('project_forbidden')
    }
    const batch = standing.batches.get(event.batch_id)
    if (batch !== undefined) {
      const home = standing.projectsByKey.get(batch.state.projectKey)
      if (home?.slug !== slug) {
        return new Problem(
          home !== undefined && maySee(home, sender) ? 'batch_project_mismatch' : 'project_forbidden',
        )
      }
      if (batch.purged) return new Problem('batch_purged')
    } else {
      const home = newBatches.get(event.batch_id)
      if (home !== undefined && home !== slug) {
        const project = standing.projects.get(home)
        const seen = project === undefined ? newProjects.get(home) === sender.id : maySee(project, sender)
        return new Problem(seen ? 'batch_project_mismatch' : 'project_forbidden')
      }
    }
    if (project === undefined && owner === undefined && !options.autocreate)
      return new Problem('unknown_project')
    return undefined
  }

  /** Counts the job's series as they will be; a refused event leaves the count as it was. */
  function seriesFault({ checked: { event, series } }: Item): Problem | undefined {
    if (series === undefined || event.event_type !== 'job_epoch') return undefined
    const progress = standing.jobs.get(event.batch_id)?.get(event.job_id)?.progress
    if (progress?.latest?.names === series.names) return undefined
    const name = `${event.batch_id}\n${event.job_id}`
    let known = dictionaries.get(name)
    if (known === undefined) {
      known = new Set(progress?.names)
      dictionaries.set(name, known)
    }
    const added: string[] = []
    for (const key of series.names) if (!known.has(key)) added.push(key)
    if (known.size + added.length > MAX_SERIES) return new Problem('too_many_series')
    for (const key of added) known.add(key)
    return undefined
  }
}
