import { ChevronDown, Download } from 'lucide-react'
import type { ComponentProps } from 'react'
import { buttonLook } from './controls.tsx'
import type { ExportMenu } from './export-menu.tsx'
import { OpenLater } from './open-later.tsx'

const load = () => import('./export-menu.tsx').then((file) => file.ExportMenu)

/** A button for `ExportMenu`, which is loaded when first used. */
export const ExportTable = (given: ComponentProps<typeof ExportMenu>) => (
  <OpenLater load={load} given={given} className={buttonLook()}>
    <Download className="size-3.5 max-sm:hidden" aria-hidden="true" /> Export{' '}
    <ChevronDown className="size-3.5" aria-hidden="true" />
  </OpenLater>
)
