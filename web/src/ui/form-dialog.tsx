import type { ReactNode } from 'react'
import { Button } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './notice.tsx'

/** A dialog with a form: its fields, the failure of the last attempt, and the buttons to cancel and to submit. */
export function FormDialog(props: {
  title: string
  size?: 'usual' | 'wide'
  /** The label of the button that submits. */
  yes: ReactNode
  /** Whether submitting removes something. */
  danger?: boolean
  disabled: boolean
  failure?: ReactNode
  /** Leaves checking the fields to `onSubmit`. */
  noValidate?: boolean
  onSubmit: (form: FormData) => void
  onClose: () => void
  children: ReactNode
}) {
  const { title, size = 'usual', noValidate = false, failure, onSubmit, onClose } = props
  return (
    <Dialog title={title} onClose={onClose} size={size}>
      <form
        className="flex flex-col gap-3"
        noValidate={noValidate}
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit(new FormData(event.currentTarget))
        }}
      >
        {props.children}
        {failure && <Failure>{failure}</Failure>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button look={props.danger ? 'danger' : 'primary'} type="submit" disabled={props.disabled}>
            {props.yes}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
