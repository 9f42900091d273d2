/** A heading over rows separated by lines. */
export function Section({
  title,
  note,
  children,
}: {
  title: string
  note?: string
  children: React.ReactNode
}) {
  return (
    <section>
      <h2 className="flex items-baseline gap-2 pb-1 font-semibold">
        {title} {note && <span className="text-xs font-normal text-muted">{note}</span>}
      </h2>
      <div className="divide-y divide-line border-y border-line">{children}</div>
    </section>
  )
}
