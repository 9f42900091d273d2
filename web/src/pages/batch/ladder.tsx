import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import type { Batch } from '../../lib/api/batches.ts'
import { type Command, cancelCommand } from '../../lib/api/control.ts'
import { errorText } from '../../lib/api/request.ts'
import { links } from '../../lib/links.ts'
import { exact, timeOfDay } from '../../lib/words.ts'
import { Button } from '../../ui/controls.tsx'
import { useNow } from '../../ui/relative-time.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { type LadderStep, rerunLadder, useControl } from './control.ts'
import { stopLadder } from './stop-ladder.ts'

/** Stops that ended longer ago are only in the timeline. */
const SHOWN_MS = 10 * 60_000

const isNews = (at: string | null, now: number): boolean => at === null || now - Date.parse(at) < SHOWN_MS

/** Whether the page starts with the progress of a stop. */
export const showsStop = (batch: Batch, now: number): boolean =>
  batch.can !== undefined && batch.stop_requested && isNews(batch.ended_at, now)

/** The progress of a recent stop and a recent rerun of the batch. */
export function ControlProgress({ batch }: { batch: Batch }) {
  const control = useControl(batch.id, { enabled: batch.can !== undefined }).data
  const now = useNow()
  const [hidden, setHidden] = useState<readonly string[]>([])
  if (control == null) return null
  const stop = showsStop(batch, now) ? stopLadder(batch, control) : undefined
  const reruns = control.commands.filter(
    (command) =>
      command.kind === 'rerun' &&
      command.batch_id === batch.id &&
      isNews(command.finished_at, now) &&
      (command.finished_at !== null || ['pending', 'in_flight'].includes(command.state)),
  )
  return (
    <>
      {stop && !hidden.includes('stop') && (
        <Panel
          title={batch.status === 'running' ? 'Stopping' : 'Stop'}
          rungs={stop}
          onHide={batch.status === 'running' ? undefined : () => setHidden([...hidden, 'stop'])}
        />
      )}
      {reruns
        .filter((command) => !hidden.includes(command.cmd_id))
        .map((command) => (
          <Panel
            key={command.cmd_id}
            title={command.jobs === 'failed' ? 'Rerun of failed, lost and missing jobs' : 'Rerun'}
            rungs={rerunLadder(command, control.timeline)}
            onHide={command.finished_at === null ? undefined : () => setHidden([...hidden, command.cmd_id])}
          >
            <RerunLinks command={command} batchId={batch.id} />
          </Panel>
        ))}
    </>
  )
}

export function RerunLinks({ command, batchId }: { command: Command; batchId: string }) {
  const cancel = (): void =>
    void cancelCommand(batchId, command.cmd_id).catch((error) =>
      showToast(`Not cancelled: ${errorText(error)}`, { bad: true }),
    )
  return (
    <>
      {command.linked_batch_ids
        .filter((id) => id !== batchId)
        .map((id) => (
          <Link key={id} {...links.batch(id)} className="text-accent underline">
            Open {id}
          </Link>
        ))}
      {command.state === 'pending' && command.batch_id === batchId && (
        <Button onClick={cancel} title="No agent has started it yet">
          Cancel rerun
        </Button>
      )}
      {command.output_tail && command.state === 'failed' && (
        <details className="w-full">
          <summary>The end of its output</summary>
          <pre className="max-h-48 overflow-auto rounded border border-line bg-surface p-2 font-mono text-xs whitespace-pre-wrap">
            {command.output_tail}
          </pre>
        </details>
      )}
    </>
  )
}

function Panel(props: {
  title: string
  rungs: readonly LadderStep[]
  onHide: (() => void) | undefined
  children?: React.ReactNode
}) {
  return (
    <section
      aria-label={props.title}
      aria-live="polite"
      className="flex flex-col gap-1.5 rounded border border-line bg-surface px-3 py-2"
    >
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <h2 className="font-medium">{props.title}</h2>
        {props.children}
        <span className="flex-1" />
        {props.onHide && (
          <button
            type="button"
            aria-label={`Hide: ${props.title}`}
            className="rounded px-1.5 text-muted hover:bg-hover"
            onClick={props.onHide}
          >
            ×
          </button>
        )}
      </div>
      <Ladder rungs={props.rungs} />
    </section>
  )
}

/**
 * Steps in order: completed ones with time and actor, the current one waiting, later ones hollow. `down`: one below the
 * other, for a narrow dialog.
 */
export function Ladder({ rungs, down = false }: { rungs: readonly LadderStep[]; down?: boolean }) {
  const next = rungs.findIndex((rung) => rung.at === undefined)
  return (
    <ol className={down ? 'flex flex-col gap-2' : 'flex flex-wrap gap-x-1 gap-y-1.5'}>
      {rungs.map((rung, i) => (
        <li
          // biome-ignore lint/suspicious/noArrayIndexKey: steps do not move
          key={i}
          data-rung={rung.at === undefined ? (i === next ? 'waiting' : 'open') : 'done'}
          className="flex items-start gap-1.5"
        >
          {i > 0 && !down && (
            <span aria-hidden="true" className="text-line-strong">
              →
            </span>
          )}
          <span>
            <span
              className={
                rung.bad
                  ? 'text-failed'
                  : rung.at === undefined
                    ? 'text-muted'
                    : i === next - 1
                      ? 'font-medium'
                      : ''
              }
            >
              <Mark rung={rung} waiting={i === next} /> {rung.title}
            </span>
            <span className="block pl-5 text-xs text-muted">
              {rung.at !== undefined && (
                <time dateTime={rung.at} title={exact(rung.at)}>
                  {timeOfDay(rung.at)}
                </time>
              )}
              {rung.actor && ` ${rung.actor}`}
              {rung.note && <span className={down ? 'block' : 'block sm:max-w-72'}>{rung.note}</span>}
            </span>
          </span>
        </li>
      ))}
    </ol>
  )
}

function Mark({ rung, waiting }: { rung: LadderStep; waiting: boolean }) {
  if (rung.at !== undefined)
    return (
      <span aria-hidden="true" className={`inline-block w-4 text-center ${rung.bad ? '' : 'text-completed'}`}>
        {rung.bad ? '×' : '✓'}
      </span>
    )
  return (
    <span aria-hidden="true" className="inline-block w-4 text-center">
      <span
        className={`inline-block size-2 rounded-full ${waiting ? 'pulse bg-running' : 'border border-line-strong'}`}
      />
    </span>
  )
}
