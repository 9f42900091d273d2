import { OpenLater } from './open-later.tsx'
import type { PopoverProps } from './popover-box.tsx'

const popoverBox = () => import('./popover-box.tsx').then((file) => file.PopoverBox)

/** A button with a box that opens below it; what places the box is loaded then, and not before the first chart. */
export const PopoverLater = (props: PopoverProps) => (
  <OpenLater load={popoverBox} given={props} aria-haspopup="dialog" {...props.trigger} />
)
