import { ChevronRight } from 'lucide-react'
import type { ComponentProps } from 'react'
import { some } from '../lib/words.ts'
import { ChartGrid } from './chart-grid.tsx'
import { sectionsOf } from './series-names.ts'

const OTHERS = 'Charts'

/** All charts of a page, in collapsible sections by prefix if series have prefixes. */
export function ChartSections(
  props: ComponentProps<typeof ChartGrid> & {
    closed: readonly string[] | undefined
    onClosed: (closed: string[]) => void
  },
) {
  const { keys, closed = [], onClosed, ...rest } = props
  const sections = sectionsOf(keys, rest.kept ?? NONE)
  if (sections.length < 2) return <ChartGrid {...rest} keys={keys} />
  // All sections have the same columns.
  const largest = Math.max(...sections.map((section) => section.keys.length))
  return (
    <div className="flex flex-col gap-2">
      {sections.map(({ prefix, keys }) => {
        const title = prefix === '' ? OTHERS : prefix
        const open = !closed.includes(title)
        return (
          <section key={title} aria-label={`Section ${title}`} className="flex flex-col gap-2">
            <h2>
              <button
                type="button"
                aria-expanded={open}
                className="flex w-full items-center gap-1.5 rounded px-1 py-1 text-left hover:bg-hover"
                onClick={() => onClosed(open ? [...closed, title] : closed.filter((one) => one !== title))}
              >
                <ChevronRight
                  className={`size-4 text-muted transition-transform ${open ? 'rotate-90' : ''}`}
                  aria-hidden="true"
                />
                <span className="font-semibold">{title}</span>
                <span className="text-xs text-muted">{some(keys.length, 'chart')}</span>
              </button>
            </h2>
            {open && <ChartGrid {...rest} keys={keys} columnsOf={largest} />}
          </section>
        )
      })}
    </div>
  )
}
const NONE: ReadonlySet<string> = new Set()
