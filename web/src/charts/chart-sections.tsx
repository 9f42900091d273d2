import { ChevronRight } from 'lucide-react'
import { Suspense } from 'react'
import { arranged } from '../lib/charts/layout.ts'
import { some } from '../lib/words.ts'
import { Waiting } from '../ui/notice.tsx'
import { part } from '../ui/part.tsx'
import { ChartGrid, type SectionsProps } from './chart-grid.tsx'

const ChartArranger = part(() => import('./chart-arranger.tsx').then((file) => file.ChartArranger))

/** All charts of a page, in collapsible sections if there are several. */
export function ChartSections(props: SectionsProps) {
  const { keys, closed = [], onClosed, onLayout: _, isArranging, ...rest } = props
  const sections = arranged(keys, rest.kept ?? NONE, rest.layout)
  if (isArranging)
    return (
      <Suspense fallback={<Waiting rows={4} />}>
        <ChartArranger {...props} sections={sections} />
      </Suspense>
    )
  if (sections.length < 2) return <ChartGrid {...rest} keys={sections[0]?.keys ?? []} />
  // All sections have the same columns.
  const largest = Math.max(...sections.map((section) => section.keys.length))
  return (
    <div className="flex flex-col gap-2">
      {sections.map(({ id, title, keys }) => {
        const open = !closed.includes(id)
        return (
          <section key={id} aria-label={`Section ${title}`} className="flex flex-col gap-2">
            <h2>
              <button
                type="button"
                aria-expanded={open}
                className="flex w-full items-center gap-1.5 rounded px-1 py-1 text-left hover:bg-hover"
                onClick={() => onClosed(open ? [...closed, id] : closed.filter((one) => one !== id))}
              >
                <ChevronRight
                  className={`size-4 text-muted transition-transform ${open ? 'rotate-90' : ''}`}
                  aria-hidden="true"
                />
                <span className="min-w-0 truncate font-semibold">{title}</span>
                <span className="shrink-0 text-xs text-muted">{some(keys.length, 'chart')}</span>
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
