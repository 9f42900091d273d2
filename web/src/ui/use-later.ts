import { type ComponentType, useCallback, useState } from 'react'
import { tell } from './toasts.tsx'

/**
 * What is opened seldom is code of its own: loaded once it is opened, and `sorry` is said when it cannot be had, while
 * the page stays as it is. `load` gives the same promise at every call that goes well.
 */
export function useLater<Props extends object>(load: () => Promise<ComponentType<Props>>, sorry: string) {
  const [Part, setPart] = useState<ComponentType<Props> | null>(null)
  const open = useCallback((): void => {
    load().then(
      (part) => setPart(() => part),
      () => tell(sorry, { bad: true }),
    )
  }, [load, sorry])
  const close = useCallback(() => setPart(null), [])
  return { Part, open, close }
}
