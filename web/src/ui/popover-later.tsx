import { OpenLater } from './open-later.tsx'
import type { PopoverProps } from './popover-box.tsx'

const popoverBox = () => import('./popover-box.tsx').then((file) => file.PopoverBox)

/** A button with a popover. The positioning code is loaded when it is first opened. */
export const PopoverLater = (props: PopoverProps) => (
  <OpenLater load={popoverBox} given={props} aria-haspopup="dialog" {...props.trigger} />
)
