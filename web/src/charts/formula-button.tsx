import { Sigma } from 'lucide-react'
import { Suspense } from 'react'
import { buttonLook } from '../ui/controls.tsx'
import { part } from '../ui/part.tsx'
import { PopoverLater } from '../ui/popover-later.tsx'

const FormulaForm = part(() => import('./formula-form.tsx').then((file) => file.FormulaForm))

/** Adds a chart of a formula. */
export function FormulaButton(props: {
  formulas: readonly string[]
  metrics: readonly string[]
  onFormulas: (formulas: readonly string[]) => void
}) {
  return (
    <PopoverLater
      label="Chart of a formula"
      align="end"
      className="w-96 max-w-[calc(100vw-16px)] p-3"
      trigger={{
        className: buttonLook(),
        title: 'Chart of a formula, such as val_loss - train_loss',
        children: (
          <>
            <Sigma className="size-4" aria-hidden="true" />
            Formula
          </>
        ),
      }}
    >
      {(close) => (
        <Suspense>
          <FormulaForm
            metrics={props.metrics}
            onAdd={(formula) => {
              props.onFormulas([...new Set([...props.formulas, formula])])
              close()
            }}
          />
        </Suspense>
      )}
    </PopoverLater>
  )
}
