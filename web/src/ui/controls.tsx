import type { ButtonHTMLAttributes, CSSProperties, InputHTMLAttributes, ReactNode } from 'react'
import { useId } from 'react'
import type { Batch } from '../lib/api/batches.ts'
import { count, some } from '../lib/words.ts'

const LOOK = {
  plain: 'border border-line bg-bg font-medium text-ink hover:bg-hover',
  /** For a selected option. */
  on: 'border border-accent bg-accent-soft font-medium text-ink',
  primary: 'bg-accent font-medium text-accent-ink hover:opacity-90',
  quiet: 'text-muted hover:bg-hover hover:text-ink',
  danger: 'border border-line bg-bg font-medium text-failed hover:bg-failed-soft',
}

export const buttonLook = (look: keyof typeof LOOK = 'plain'): string =>
  `inline-flex h-7 items-center pointer-coarse:min-h-9 justify-center gap-1.5 whitespace-nowrap rounded-md px-2.5 text-sm disabled:cursor-not-allowed disabled:opacity-50 ${LOOK[look]}`

export function Button({
  look = 'plain',
  className = '',
  ...rest
}: { look?: keyof typeof LOOK } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return <button type="button" className={`${buttonLook(look)} ${className}`} {...rest} />
}

/** iOS zooms into a field whose text is smaller than 16 pixels. */
export const inputLook =
  'h-7 w-full pointer-coarse:min-h-9 pointer-coarse:text-[16px] rounded-md border border-line-strong bg-bg px-2 text-sm text-ink outline-offset-0 disabled:opacity-60'

export function Field({
  label,
  hint,
  ...rest
}: { label: string; hint?: ReactNode } & InputHTMLAttributes<HTMLInputElement>) {
  const id = useId()
  return (
    <div className="flex flex-col gap-1">
      <label htmlFor={id} className="text-muted">
        {label}
      </label>
      <input id={id} className={inputLook} {...rest} />
      {hint && <p className="text-xs text-muted">{hint}</p>}
    </div>
  )
}

export function Choice<T extends string>(props: {
  label: string
  value: T
  options: readonly (readonly [T, string])[]
  /** More options, below a heading. */
  more?: { label: string; options: readonly (readonly [T, string])[] }
  onChange: (value: T) => void
  hideLabel?: boolean
}) {
  const id = useId()
  return (
    <div className={props.hideLabel ? '' : 'flex flex-col gap-1'}>
      <label htmlFor={id} className={props.hideLabel ? 'sr-only' : 'text-muted'}>
        {props.label}
      </label>
      <select
        id={id}
        className={`${inputLook} w-auto pr-6! ${props.hideLabel ? 'field-sizing-content max-w-32' : 'max-w-64'}`}
        value={props.value}
        onChange={(event) => props.onChange(event.target.value as T)}
      >
        {props.options.map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
        {props.more && props.more.options.length > 0 && (
          <optgroup label={props.more.label}>
            {props.more.options.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </optgroup>
        )}
      </select>
    </div>
  )
}

/** Green up to `done`, and red from there to `ended`, in percent of the bar's length. */
export function ProgressBar(props: { label: string; done: string; ended?: string }) {
  const { label, done, ended = done } = props
  const style = { '--done': done, '--ended': ended } as CSSProperties
  return (
    <span role="img" aria-label={label} className="progress h-1.5 w-16 shrink-0 rounded-full" style={style} />
  )
}

/**
 * The text of a batch's progress, such as `5 of 8`, with a bar while it runs. Without a plan, and if more jobs have ended
 * than were planned, it is how many ended.
 */
export function Progress({
  batch: { status, n_done: done, n_failed: failed, n_total: total, progress: part },
}: {
  batch: Pick<Batch, 'status' | 'n_done' | 'n_failed' | 'n_total'> & {
    /** The completed share, 0 to 1, if epochs are more precise than jobs. */
    progress?: number | null
  }
}) {
  const ended = done + failed
  const planned = total !== null && total > 0 && total >= ended ? total : undefined
  const all = Math.max(planned ?? ended, 1)
  const upTo = (n: number): string => `${(100 * n) / all}%`
  // Progress of running jobs, from their epochs.
  const more = part != null && part < 1 && part * all > ended ? part : undefined
  const percent = more === undefined ? undefined : `${Math.floor(100 * more)}%`
  const runs = status === 'running'
  const bar = runs && (planned ?? percent) !== undefined
  return (
    <span className="flex items-center gap-2 whitespace-nowrap">
      {bar && (
        <ProgressBar
          label={`${planned === undefined ? `${some(ended, 'job')} ended` : `${count(ended)} of ${count(planned)} jobs`}${percent === undefined ? '' : `, ${percent} of the epochs`}`}
          done={percent ?? upTo(done)}
          ended={percent ?? upTo(ended)}
        />
      )}
      <span aria-hidden={bar || undefined} className="text-ink">
        {percent !== undefined && all === 1
          ? percent
          : planned === undefined
            ? `${count(ended)}${runs ? ' ended' : ''}`
            : `${count(ended)} / ${count(planned)}${percent === undefined ? '' : ` · ${percent}`}`}
      </span>
    </span>
  )
}

export const Tag = ({ children }: { children: string }) => (
  <span className="max-w-40 truncate rounded border border-line bg-surface px-1.5 text-xs text-muted">
    {children}
  </span>
)
