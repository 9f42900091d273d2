import type { ReactNode } from 'react'

/** A page of text and small tables. */
export const Sheet = (props: { title: string; wide?: boolean; children: ReactNode }) => (
  <div className={`flex flex-col gap-4 p-4 ${props.wide ? 'max-w-[120rem]' : 'max-w-5xl'}`}>
    <h1 className="text-base font-semibold">{props.title}</h1>
    {props.children}
  </div>
)

/** A small table. A wide one scrolls horizontally. */
export const Table = ({
  heads,
  wide = [],
  numeric = [],
  colours = [],
  label,
  children,
}: {
  /** The last may be empty: the column of the rows' buttons, which stays in sight while the others are scrolled. */
  heads: readonly string[]
  /** Columns hidden on phones; their cells need `max-sm:hidden` too. */
  wide?: readonly string[]
  /** Columns of numbers; their cells need `text-right` too. */
  numeric?: readonly string[]
  /** The colours of columns that stand for runs, beside their heads. */
  colours?: readonly (string | undefined)[]
  label: string
  children: ReactNode
}) => (
  <section
    className={`${heads.at(-1) === '' ? 'table-actions' : 'fade-end'} relative overflow-x-auto`}
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    tabIndex={0}
    aria-label={label}
  >
    <table className="w-full border-y border-line text-left [&_td]:px-2 [&_td]:py-1.5 [&_td]:whitespace-nowrap [&_tr]:border-t [&_tr]:border-line [&_.text-right+:not(.text-right)]:pl-6">
      <thead className="bg-surface text-xs text-muted">
        <tr>
          {heads.map((head, i) => (
            <th
              key={head || i}
              scope="col"
              className={`px-2 py-1.5 font-normal whitespace-nowrap ${wide.includes(head) ? 'max-sm:hidden' : ''} ${numeric.includes(head) ? 'text-right' : ''}`}
            >
              {colours[i] !== undefined && (
                <span
                  data-colour
                  aria-hidden="true"
                  className="mr-1.5 inline-block size-2.5 rounded-full"
                  style={{ background: colours[i] }}
                />
              )}
              {head || <span className="sr-only">Actions</span>}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  </section>
)
