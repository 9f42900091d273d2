import type { Quiet } from '../../lib/api/rules.ts'
import { inputLook } from '../../ui/controls.tsx'

const NIGHT = { from: '22:00', to: '07:00' }
const hereZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

/** The hours in which a rule sends nothing, in the time zone of the browser that sets them. */
export function QuietField({
  value,
  onChange,
}: {
  value: Quiet | null
  onChange: (quiet: Quiet | null) => void
}) {
  const time = (name: 'from' | 'to') => (quiet: Quiet) => (
    <label className="flex items-center gap-1.5">
      <span className="text-muted">{name}</span>
      <input
        type="time"
        required
        className={`${inputLook} w-28`}
        value={quiet[name]}
        onChange={(event) => event.target.value !== '' && onChange({ ...quiet, [name]: event.target.value })}
      />
    </label>
  )
  return (
    <div className="flex flex-col gap-1.5">
      <label className="flex items-center gap-1.5">
        <input
          type="checkbox"
          checked={value !== null}
          onChange={() => onChange(value === null ? { ...NIGHT, time_zone: hereZone() } : null)}
        />
        <span>Quiet hours</span>
      </label>
      {value !== null && (
        <>
          <div className="flex flex-wrap items-center gap-x-3 gap-y-1.5 pl-5">
            {time('from')(value)}
            {time('to')(value)}
            <span className="text-muted">{value.time_zone}</span>
          </div>
          <p className="pl-5 text-xs text-muted">
            What happens in them comes as one message within an hour after them.
          </p>
        </>
      )}
    </div>
  )
}
