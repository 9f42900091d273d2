/** A part of a page with its heading. */
export function Section(props: { id: string; title: React.ReactNode; children: React.ReactNode }) {
  return (
    <section aria-labelledby={props.id} className="flex flex-col gap-2">
      <h2 id={props.id} className="font-semibold">
        {props.title}
      </h2>
      {props.children}
    </section>
  )
}
