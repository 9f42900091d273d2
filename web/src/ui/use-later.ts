import { type ComponentType, useCallback, useState } from 'react'
import { showToast } from './toasts.tsx'

/**
 * Loads a rarely used component when it is first opened. If loading fails, `sorry` is shown and the page stays
 * unchanged.
 * @param load returns the same promise at every call, unless loading failed
 */
export function useLater<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
  errorMessage: string,
) {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null)
  const open = useCallback((): void => {
    load().then(
      (part) => setPart(() => part),
      () => showToast(errorMessage, { bad: true }),
    )
  }, [load, errorMessage])
  const close = useCallback(() => setPart(null), [])
  return { Part, open, close }
}
