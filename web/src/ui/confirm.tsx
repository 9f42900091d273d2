import { useMutation } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { errorText } from '../lib/api/request.ts'
import { Button } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './notice.tsx'

/** A confirmation dialog. It closes once the action has succeeded, and shows the error otherwise. */
export function Confirm(props: {
  title: string
  yes: string
  no: string
  /** Whether the action deletes something. */
  danger?: boolean
  run: () => Promise<unknown>
  onClose: () => void
  children: ReactNode
}) {
  const { title, yes, no, danger, run, onClose, children } = props
  const act = useMutation({ mutationFn: run, onSuccess: onClose })
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="text-muted">{children}</p>
      {act.error && <Failure>{errorText(act.error)}</Failure>}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{no}</Button>
        <Button look={danger ? 'danger' : 'primary'} disabled={act.isPending} onClick={() => act.mutate()}>
          {yes}
        </Button>
      </div>
    </Dialog>
  )
}
