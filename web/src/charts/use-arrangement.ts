import { useEffect, useState } from 'react'
import { keepLayout, keptLayout } from '../lib/charts/kept-layout.ts'
import { type ChartLayout, withHidden } from '../lib/charts/layout.ts'
import { showToast } from '../ui/toasts.tsx'

/**
 * How charts and media are arranged: as in the URL, else as last in this browser for the project. That is then put into
 * the URL, so that links and views have it.
 */
export function useArrangement(
  inUrl: ChartLayout | undefined,
  change: (layout: ChartLayout | undefined) => void,
  project: string | undefined,
) {
  const [isArranging, setIsArranging] = useState(false)
  const [kept, setKept] = useState(() => (inUrl === undefined ? keptLayout(project) : undefined))
  const layout = inUrl ?? kept
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the page opens
  useEffect(() => {
    if (inUrl === undefined && kept !== undefined) change(kept)
  }, [])
  const onLayout = (next: ChartLayout | undefined): void => {
    keepLayout(project, next)
    setKept(undefined)
    change(next)
  }
  return {
    layout,
    onLayout,
    isArranging,
    onArranging: setIsArranging,
    onHide: (name: string, label = name): void => {
      onLayout(withHidden(layout, name, true))
      showToast(`${label} is hidden. “Arrange” lists what is hidden.`, {
        action: { label: 'Undo', run: () => onLayout(layout) },
      })
    },
  }
}
