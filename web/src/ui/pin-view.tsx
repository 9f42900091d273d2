import { useState } from 'react'
import { Button, Field } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { showToast } from './toasts.tsx'

/** Keeps what is shown under a name in the rail. */
export function PinView({ suggested, onPin }: { suggested: string; onPin: (title: string) => void }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <Button onClick={() => setOpen(true)}>Save view</Button>
      {open && (
        <Dialog title="Save view" onClose={() => setOpen(false)}>
          <form
            className="flex flex-col gap-3"
            onSubmit={(event) => {
              event.preventDefault()
              const title = String(new FormData(event.currentTarget).get('title')).trim()
              if (title === '') return
              onPin(title)
              setOpen(false)
              showToast(`“${title}” is saved in the menu of this browser.`)
            }}
          >
            <Field
              label="Name"
              name="title"
              defaultValue={suggested.slice(0, 60)}
              maxLength={60}
              required
              autoFocus
              hint="Filters, order and columns are kept with it."
            />
            <div>
              <Button type="submit" look="primary">
                Save
              </Button>
            </div>
          </form>
        </Dialog>
      )}
    </>
  )
}
