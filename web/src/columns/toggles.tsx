/** Toggle buttons. The value lists those that are on, in the order in which they were chosen. */
export function Toggles(props: {
  label: string
  options: readonly (readonly [string, string])[]
  on: readonly string[]
  onChange: (on: string[]) => void
}) {
  const { on, onChange } = props
  return (
    <div
      role="group"
      aria-label={props.label}
      className="flex max-h-24 flex-wrap gap-1 overflow-y-auto p-0.5 pointer-coarse:max-h-40 pointer-coarse:gap-1.5"
    >
      {props.options.map(([id, title]) => (
        <button
          key={id}
          type="button"
          aria-pressed={on.includes(id)}
          className={`rounded-full border px-2 text-xs pointer-coarse:px-2.5 pointer-coarse:py-1.5 ${on.includes(id) ? 'border-accent bg-accent-soft' : 'border-line text-muted hover:bg-hover'}`}
          onClick={() => onChange(on.includes(id) ? on.filter((one) => one !== id) : [...on, id])}
        >
          {title}
        </button>
      ))}
    </div>
  )
}
